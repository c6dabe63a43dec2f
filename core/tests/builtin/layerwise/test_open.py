"""Which backend calculates in float64, and of which model, for those who tell rounding from faults."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import FakeSite
from toymodels import chain, node, write

from polycmp.errors import ModelError, UsageError
from polycmp.layerwise import open_partitioned_runs, open_precise_run
from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve

#: A backend that runs a program of its own in place of the model's file: the same operators, with twice as much of y.
LIGHT = """
    from polycmp.spec import RunnerSpec, hookimpl
    from toybox.plugin import NumpyTools, RunnerOptions

    @hookimpl
    def polycmp_runners():
        for name, tools in ("program", "OwnTools"), ("imprecise", "ImpreciseTools"):
            yield RunnerSpec(
                name, "Programs", "program_heavy:make_runner", options=RunnerOptions, accepts=("toy",),
                tools=f"program_light:{tools}",
            )

    class OwnTools(NumpyTools):
        runs_parts = False

        def inside(self, model, options):
            from program_heavy import program_of
            return program_of(model)

    class ImpreciseTools(OwnTools):
        precise = ()
"""
HEAVY = """
    from dataclasses import replace

    from polycmp.graph import OwnGraph
    from toybox.graph import ToyGraph
    from toybox.model import Node
    from toybox.runner import ToyRunner

    class Program(ToyGraph, OwnGraph):
        pass

    def program_of(model):
        def load():
            toy = model.load("toy")()
            return replace(toy, nodes=(*toy.nodes, Node("Add", ("y", "y"), ("twice",))), outputs=("twice",))

        return Program(load)

    def make_runner(model, options, *, name):
        return ToyRunner(model.load("toy"), options, name)
"""
FEED = {"x": np.full((2, 8), 1 / 3, np.float32)}


@pytest.fixture
def resolved(toybox, tmp_path_factory, monkeypatch, tmp_path):
    """Return a function that resolves backends, by the words after `-b`; there are two models, m.toy and n.toy."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    site.install("fake-program", {"program": "program_light"}, {"program_light.py": LIGHT, "program_heavy.py": HEAVY})
    monkeypatch.syspath_prepend(str(site.folder))
    monkeypatch.chdir(tmp_path)
    chain("m.toy", 2)
    chain("n.toy", 2, changed=2)

    def make(*words):
        registry = Registry.discover()
        return resolve(Plan(model="m.toy", backends=plan_backends(list(words), {}, registry)), registry)

    return make


def in_float64(resolved, label):
    """Return what the precise run of a backend computes, and its label."""
    [run] = [run for run in open_partitioned_runs(resolved) if run.label == label]
    precise = open_precise_run(resolved, label, run.graph)
    return precise.run_whole(FEED), precise.label


@pytest.mark.parametrize("label", ["a", "b"])
@pytest.mark.parametrize(
    ("words", "output", "maker"),
    [
        (("toy:name=a", "toy:name=b,model=n.toy"), "y", "toy in float64"),
        (("program:name=a", "program:name=b,model=n.toy"), "twice", "program in float64"),
    ],
)
def test_it_is_the_reference_that_is_calculated_in_float64_wherever_it_stands(resolved, words, output, maker, label):
    backends = resolved(*words)
    precise, named = in_float64(backends, label)
    [run] = [run for run in open_partitioned_runs(backends) if run.label == label]
    plain = run.run_whole(FEED)[output]
    assert precise[output].dtype == np.float64
    assert plain.dtype == np.float32
    np.testing.assert_allclose(precise[output], plain, rtol=1e-5)
    assert np.any(precise[output] != plain)
    assert named == maker


@pytest.mark.parametrize(("reference", "output"), [("a", "twice"), ("b", "y")])
def test_a_program_and_a_file_are_told_apart(resolved, reference, output):
    precise, _ = in_float64(resolved("program:name=a", "plain:name=b"), reference)
    assert list(precise) == [output]


def test_nothing_calculates_a_program_in_float64_for_a_backend_that_cannot(resolved):
    backends = resolved("imprecise:name=a", "toy:name=b")
    graphs = {run.label: run.graph for run in open_partitioned_runs(backends)}
    assert open_precise_run(backends, "a", graphs["a"]) is None
    assert open_precise_run(backends, "b", graphs["b"]) is not None


def test_a_backend_without_a_graph_is_told_what_it_can_do(resolved):
    with pytest.raises(UsageError, match="cannot run parts of a model") as caught:
        open_partitioned_runs(resolved("toy", "shut"))
    assert (caught.value.whose, caught.value.hint) == (
        "-b shut",
        "outputs can be compared: polycmp run MODEL -b …",
    )


def test_a_format_without_a_graph_is_named(resolved, tmp_path):
    write(tmp_path / "m.toy", [node("Relu", "x", "y")])
    (tmp_path / "m.packed").write_bytes(b"")
    with pytest.raises(ModelError, match="does not show their operators"):
        open_partitioned_runs(resolved("toy", "packs:model=m.packed"))
