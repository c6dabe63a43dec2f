"""Fields that descriptors had before: they work for one release, with a warning."""

from __future__ import annotations

import warnings

import pytest
from tool_plugins import HEAD, LOADER, RUNNER, tools_of

from polycmp.plugins import Registry


class TestFormerFields:
    """Plugins written before the classes work for one release, with a warning."""

    def test_of_a_backend(self, site):
        with pytest.warns(DeprecationWarning, match=r"RunnerSpec\(\w+=…\) is deprecated") as seen:
            tools = tools_of(
                site,
                RUNNER.format(
                    "intermediates='none', threads='fast', trial_cost=3, switches=(Switch('fast', (True,)),)"
                ),
            )
        assert (tools.runs_parts, tools.threads, tools.trial_cost, len(tools.switches)) == (False, "fast", 3, 1)
        assert tools.inside(None, None) == "none"
        texts = [str(item.message) for item in seen]
        assert any("use runs_parts of the class that `tools` names" in text for text in texts)
        assert len(texts) == 4

    def test_of_a_backend_with_a_view_of_its_own(self, site):
        with pytest.warns(DeprecationWarning, match="inside"):
            tools = tools_of(site, RUNNER.format("inside='mine_heavy:inside'"))
        assert (tools.runs_parts, tools.inside("model", "options")) == (True, "none")

    def test_of_a_loader(self, site, tmp_path):
        fields = "describe='mine_heavy:describe', graph='mine_heavy:graph', save='', folder_marks=('mark',)"
        with pytest.warns(DeprecationWarning, match="LoaderSpec"):
            tools = tools_of(site, LOADER.format(fields), "loaders")
        assert tools.describe("m", 1) == ("m", 1)
        assert (tools.graph("loader"), tools.save) == (["graph", "loader"], None)
        (tmp_path / "mark").touch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert Registry.discover().loaders["mine"].spec.reads(tmp_path)

    def test_of_a_data_loader(self, site):
        source = (
            "@hookimpl\ndef polycmp_data_loaders():\n"
            "    yield DataLoaderSpec('mine', 'x', 'mine_heavy:make', synthetic=True, sizes={'image': (3,)})\n"
        )
        with pytest.warns(DeprecationWarning, match="DataLoaderSpec"):
            tools = tools_of(site, source, "data_loaders")
        assert (tools.synthetic, tools.sizes, tools.remarks(None, None)) == (True, {"image": (3,)}, {})

    def test_of_a_compare_function(self, site):
        source = (
            "from polycmp.spec import CompareFuncSpec\n@hookimpl\ndef polycmp_compare_funcs():\n"
            "    yield CompareFuncSpec('mine', 'x', 'mine_heavy:make', rejudges=True, groups=('all',))\n"
        )
        with pytest.warns(DeprecationWarning, match="CompareFuncSpec"):
            tools = tools_of(site, source, "compare_funcs")
        assert (tools.rejudges, tools.detail, tools.groups) == (True, False, ("all",))

    def test_of_a_report(self, site):
        source = (
            "from polycmp.spec import ReportSpec\n@hookimpl\ndef polycmp_reports():\n"
            "    yield ReportSpec('', 'x', 'mine_heavy:make', 'mine', when='CI', completes='mine_heavy:complete')\n"
        )
        with pytest.warns(DeprecationWarning, match="ReportSpec"):
            tools = tools_of(site, source, "reports")
        assert (tools.when, tools.instead, tools.completes("found", None, None, "m")) == ("CI", None, ("found", "m"))

    def test_the_table_of_plugins_says_what_to_change(self, site):
        site.plugin("mine", HEAD + RUNNER.format("threads='fast'"))
        with pytest.warns(DeprecationWarning, match="threads"):
            [record] = [item for item in Registry.discover().records if item.name == "mine"]
        assert record.state == "ok"
        assert "threads of the class that `tools` names" in record.notes[0]
