"""What contributions can do besides: classes that descriptors name, and the fields that descriptors had before."""

from __future__ import annotations

import warnings

import pytest

from polycmp.errors import PluginError
from polycmp.plugins import Registry
from polycmp.spec import LoaderTools, RunnerTools

HEAD = """\
from dataclasses import dataclass
from polycmp.spec import (
    DataLoaderSpec, DataLoaderTools, LoaderSpec, LoaderTools, RunnerSpec, RunnerTools, Switch, hookimpl, opt
)
@dataclass(frozen=True)
class Options:
    fast: bool = opt(False, help="h")
"""
RUNNER = "@hookimpl\ndef polycmp_runners():\n    yield RunnerSpec('mine', 'x', 'mine_heavy:make', Options, {})\n"
LOADER = "@hookimpl\ndef polycmp_loaders():\n    yield LoaderSpec('mine', 'x', 'mine_heavy:make', {})\n"
HEAVY = """\
def describe(source, options):
    return source, options
def graph(loader):
    return ["graph", loader]
def inside(model, options):
    return "none"
def complete(result, registry, plan, model):
    return result, model
"""


def tools_of(site, source, kind="runners"):
    """Return the tools of the contribution `mine` of a plugin with this light module."""
    site.plugin("mine", HEAD + source)
    (site.folder / "mine_heavy.py").write_text(HEAVY)
    registry = Registry.discover()
    return registry.tools(getattr(registry, kind)["mine"])


def test_what_a_descriptor_does_not_say_is_as_the_base_class_says(site):
    runner = tools_of(site, RUNNER.format(""))
    assert type(runner) is RunnerTools
    assert runner.inside(None, None) == "graph"


def test_what_a_loader_does_not_say_it_cannot(site):
    loader = tools_of(site, LOADER.format(""), "loaders")
    assert type(loader) is LoaderTools
    assert (loader.save, loader.graph(None), loader.describe("m", None), loader.files("m")) == (None, None, None, ())


def test_a_class_overrides_what_is_true_of_it(site):
    tools = tools_of(
        site,
        RUNNER.format("tools='fake_mine:Mine'")
        + "class Mine(RunnerTools):\n    runs_parts = False\n    narrows = (('fast', 'float16'),)\n",
    )
    assert (tools.inside(None, None), tools.narrows, tools.compiles) == ("none", (("fast", "float16"),), False)


def test_a_loader_that_only_saves_saves_drafts_and_verified_files_alike(site):
    tools = tools_of(
        site,
        LOADER.format("tools='fake_mine:Mine'")
        + "class Mine(LoaderTools):\n    def save(self, loader, path):\n        self.last = loader, path\n",
        "loaders",
    )
    tools.draft("part", "one", "weights", whole=True)
    assert tools.last == ("part", "one")
    assert tools.save_verified("whole", "two", original=None, registry=None) == ()
    assert tools.last == ("whole", "two")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class Mine: pass", "no class derived from polycmp.spec.RunnerTools"),
        ("class Mine(LoaderTools): pass", "no class derived from polycmp.spec.RunnerTools"),
        ("class Mine(RunnerTools):\n    def __init__(self): raise OSError('no luck')", "no luck"),
        ("class Mine(RunnerTools): switches = ('off',)", "a switch of 'mine' is str instead of Switch"),
        ("class Mine(RunnerTools): switches = (Switch('off'),)", "names an option 'off' that it does not have"),
        ("class Mine(RunnerTools): switches = (Switch('fast', (), 'a'),)", "'a' of 'mine' is not of the form"),
        ("class Mine(RunnerTools): aliasses = ('it',)", "RunnerTools has no 'aliasses'; did you mean 'aliases'?"),
        ("class Mine(RunnerTools): rewritten = 'file'", "names an option 'file' that it does not have"),
        ("", "cannot load fake_mine:Mine"),
    ],
)
def test_tools_that_are_broken_are_left_out_and_explained(site, source, reason):
    site.plugin("mine", HEAD + RUNNER.format("tools='fake_mine:Mine'") + source)
    registry = Registry.discover()
    assert "mine" in registry.runners
    assert [item.name for item, _ in registry.equipped(registry.runners.values())] == []
    with pytest.raises(PluginError) as failure:
        registry.tools(registry.runners["mine"])
    assert reason in f"{failure.value.what}: {failure.value.why}"
    assert "backend 'mine'" in str(failure.value)


def test_a_string_that_names_no_class_breaks_the_plugin(site):
    site.plugin("mine", HEAD + RUNNER.format("tools='mine.Tools'"))
    [record] = [item for item in Registry.discover().records if item.name == "mine"]
    assert (record.state, "'mine.Tools' in polycmp_runners" in record.reason) == ("broken", True)


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
