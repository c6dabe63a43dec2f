"""What runs leave to plugins: found by its name, made use of where it is there, and done without where it is not."""

from __future__ import annotations

import pytest
from fakes import FakeSite
from toymodels import node, write

from polycmp.plugins import Registry

HEAVY = """
    from polycmp.data.dimensions import filled, open_dimensions
    from polycmp.inputs import Chosen

    def make_fours(backends, registry):
        assert [backend.label for backend in backends] == ["toy", "plain"]
        return lambda inputs, make_feed: Chosen(filled(inputs, dict.fromkeys(open_dimensions(inputs), 4)), "all are 4")
"""


@pytest.fixture
def install(tmp_path_factory, monkeypatch, tmp_path):
    """Install a plugin with services; the model has a dimension that is open."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    write(tmp_path / "m.toy", [node("Relu", "x", "y")], inputs={"x": ["float32", ["batch", "m"]]})

    def go(name, service):
        light = (
            f"from polycmp.spec import ServiceSpec, hookimpl\n@hookimpl\ndef polycmp_services():\n    yield {service}\n"
        )
        files = {f"{name}_light.py": light, f"{name}_heavy.py": HEAVY}
        site.install(f"fake-{name}", {name: f"{name}_light"}, files)

    return go


RUN = ("run", "m.toy", "-b", "toy", "-b", "plain", "--report", "r.json")


def shape(done):
    return done.report()["inputs"]["x"]["shape"]


def test_sizes_of_open_dimensions_are_a_plugins_where_one_brings_them(polycmp, install):
    done = polycmp(*RUN)
    assert (done.status, shape(done)) == (0, [1, 8])
    install("fours", "ServiceSpec('sizes', 'Fours', 'fours_heavy:make_fours')")
    done = polycmp(*RUN)
    assert (done.status, shape(done), "all are 4" in done.words) == (0, [4, 4], True)


def test_of_two_that_bring_a_service_neither_is_used(polycmp, install):
    for name in ("five", "six"):
        install(name, f"ServiceSpec('sizes', '', '{name}_heavy:make_fours')")
    done = polycmp(*RUN)
    assert (done.status, shape(done)) == (0, [1, 8])
    assert "service 'sizes' refused: fake-six has it too" in " ".join(
        str(r.notes) for r in Registry.discover({}).records
    )


def test_a_service_that_nothing_asks_for_is_the_fault_of_its_plugin(polycmp, install):
    install("odd", "ServiceSpec('size', '', 'odd_heavy:make_fours')")
    listed = polycmp("plugins", "list")
    assert "there is no use for a service 'size'; did you mean 'sizes'" in listed.words


def test_one_that_cannot_be_loaded_is_an_error_that_names_it(polycmp, install):
    install("bad", "ServiceSpec('sizes', '', 'bad_heavy:nothing')")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain")
    assert (done.status, "service 'sizes' of fake-bad" in done.err) == (3, True)


def test_tolerances_by_rounding_name_the_package_that_brings_them(polycmp, install):
    done = polycmp(*RUN, "--tolerance", "auto")
    assert (done.status, "pip install polycmp-checks" in done.err) == (3, True)


@pytest.mark.parametrize("words", [("--postprocess", "top-1"), ("--postprocess-func-script", "p.py")])
def test_functions_before_the_comparison_name_the_package_that_has_them(polycmp, install, words):
    done = polycmp(*RUN, *words)
    assert (done.status, words[0] in done.err, "pip install polycmp-checks" in done.err) == (3, True, True), done.err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--use-subprocess",), "--use-subprocess"),
        (("-b", "tony:python=/envs/a/bin/python"), "python=/envs/a/bin/python"),
    ],
)
def test_backends_in_other_processes_name_the_package_that_runs_them(polycmp, install, words, asked):
    done = polycmp(*RUN, *words)
    assert (done.status, asked in done.err, "pip install polycmp-workers" in done.err) == (3, True, True), done.err
