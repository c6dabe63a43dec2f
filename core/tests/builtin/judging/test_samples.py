"""Samples of a model's tensors: how often it runs, on which backend, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from in_process import plugins_installed
from toymodels import chain, small

from polycmp.builtin.judging.limits import MARGIN, SAMPLES
from polycmp.builtin.judging.samples import PerturbedRuns, Samples, coarsest, perturbed_runs
from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.runs import resolve

FEED = {"x": np.linspace(-1.0, 1.0, 16, dtype=np.float32).reshape(2, 8)}
FLOAT16 = {"": "float16"}


@pytest.fixture
def backend(toybox, tmp_path):
    """Return the backend of a plan, which runs a model of the toy box."""

    def of(spec, make=small):
        registry = plugins_installed()
        values = OptionValues({}, SECTIONS, model=str(make(tmp_path / "m.toy")), backends=(spec,))
        return resolve(make_plan(values, registry), registry).backends[0]

    return of


@pytest.mark.parametrize(
    ("kinds", "kind"),
    [
        ({"": "float32"}, "float32"),
        ({"": "float32", "h": "float16"}, "float16"),
        ({"": "float16", "h": 0.25}, "int8"),
        ({"": "float32", "w": (0.25, 0.5)}, "int8"),
    ],
)
def test_the_coarsest_of_all_types_is_named(kinds, kind):
    assert coarsest(kinds) == kind


def test_further_samples_are_made_once_when_they_are_asked_for():
    asked = []

    def take(seed, count, times):
        asked.append((seed, count, times))
        return [{"y": np.full(2, number)} for number in range(count)]

    samples = Samples({"y": np.zeros(2)}, {"y": np.ones(2)}, take, "toy")
    assert (len(samples.perturbed(1)), asked) == (1, [])
    assert (len(samples.perturbed()), asked) == (SAMPLES, [(2, SAMPLES - 1, 1.0)])
    assert (len(samples.perturbed(1)), len(samples.perturbed()), len(asked)) == (1, SAMPLES, 1)
    assert [len(samples.amplified(count)) for count in (1, 3, 2)] == [1, 3, 2]
    assert asked[1:] == [(1, 1, MARGIN), (2, 2, MARGIN)]


def test_a_model_that_cannot_be_changed_is_run_on_moved_inputs(backend):
    toy = backend("toy")
    samples = PerturbedRuns(toy, toy.model.graph()).samples(FEED, FLOAT16)
    assert (samples.backend, samples.inside) == ("toy", False)
    [moved] = samples.perturbed(1)
    assert set(moved) == set(samples.exact) == {"y"}
    error = np.abs(moved["y"] - samples.exact["y"]).max()
    assert 0.0 < error < 16 * 2.0**-11
    everything = samples.perturbed()
    assert len(everything) == SAMPLES
    assert len({array["y"].tobytes() for array in everything}) == SAMPLES


def test_finer_types_move_outputs_less(backend):
    toy = backend("toy", make=chain)
    runs = PerturbedRuns(toy, toy.model.graph())
    errors = []
    for kind in ("float32", "float16", "bfloat16"):
        samples = runs.samples(FEED, {"": kind})
        errors.append(float(np.abs(samples.perturbed(1)[0]["y"] - samples.exact["y"]).max()))
    assert errors[0] < errors[1] < errors[2]


@pytest.mark.parametrize("spec", ["toy:fault=noise,at=y", "toy:fault=raise,at=y", "toy:fault=raise,at=y,after=1"])
def test_a_backend_that_fails_or_gives_two_answers_gives_no_samples(backend, spec):
    broken = backend(spec)
    assert PerturbedRuns(broken, broken.model.graph()).samples(FEED, FLOAT16) is None


def test_tensors_inside_are_not_sampled_where_only_inputs_can_be_moved(backend):
    toy = backend("toy")
    assert PerturbedRuns(toy, toy.model.graph()).samples(FEED, FLOAT16, ["h"]) is None


def test_only_backends_that_run_graphs_have_perturbed_runs(toybox, tmp_path):
    registry = plugins_installed()
    values = OptionValues({}, SECTIONS, model=str(small(tmp_path / "m.toy")), backends=("toy", "shut"))
    resolved = resolve(make_plan(values, registry), registry)
    graph = resolved.backends[0].model.graph()
    assert perturbed_runs(resolved, "toy", graph).graph is graph
    assert perturbed_runs(resolved, "nobody", graph) is None
