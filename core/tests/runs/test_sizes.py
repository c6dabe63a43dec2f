"""Sizes of dimensions that a model leaves open: what is tried, in which order, and what is said of it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from fakes import FakeSite
from in_process import plugins_installed
from toymodels import drawn, node, write

from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.runs import resolve
from polycmp.runs.sizes import MOST, ShapeSearch

#: A backend that is quick enough to try sizes on: it runs sums of a fixed length, and notes what it was asked.
PLUGIN = """\
from polycmp.spec import RunnerSpec, RunnerTools, hookimpl


@hookimpl
def polycmp_runners():
    yield RunnerSpec("quick", "Quick", "quick_heavy:make", accepts=("toy",), tools="fake_quick:Tools")


class Tools(RunnerTools):
    trial_cost = 1
"""
HEAVY = """\
from toybox.runner import ToyRunner

TRIED = []


class Quick(ToyRunner):
    def infer_impl(self, feed_dict):
        TRIED.append({name: array.shape for name, array in feed_dict.items()})
        return super().infer_impl(feed_dict)


def make(model, options, *, name):
    return Quick(model.load("toy"), name=name)
"""


def ones(inputs):
    return {name: np.ones(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}


@pytest.fixture
def search(toybox, tmp_path):
    """Return what a search finds for a model on a backend."""

    def go(path, backend="plain", make_feed=ones, **wanted):
        registry = plugins_installed()
        values = OptionValues({}, SECTIONS, model=str(path), backends=(backend,))
        resolved = resolve(make_plan(values, registry), registry)
        inputs = resolved.backends[0].model.describe().inputs
        return ShapeSearch(resolved.backends, registry)(inputs, make_feed, wanted)

    return go


@pytest.fixture
def quick(search, tmp_path, monkeypatch):
    """Return what a search finds on a quick backend, and the shapes of `x` that it ran."""
    site = FakeSite(tmp_path / "site")
    site.plugin("quick", PLUGIN)
    (site.folder / "quick_heavy.py").write_text(HEAVY)
    monkeypatch.syspath_prepend(str(site.folder))
    monkeypatch.delitem(sys.modules, "quick_heavy", raising=False)

    def go(path, **more):
        sized = search(path, "quick", **more)
        import quick_heavy

        return sized, [shapes["x"] for shapes in quick_heavy.TRIED]

    return go


def product_with(path, rows):
    """A model that reads rows of a length which its file does not say."""
    return write(path, [node("MatMul", "x w", "y")], {"w": drawn(rows, 2)}, {"x": ["float32", ["n", "m"]]})


def test_a_batch_stays_small_and_nothing_is_tried(search, tmp_path):
    path = write(tmp_path / "m.toy", [node("Relu", "x", "y")], inputs={"x": ["float32", ["n", 8]]})
    sized = search(path)
    assert sized.inputs["x"].shape == (1, 8)
    assert sized.note == "x:[1,8], the default where a model leaves dimensions open"


def test_inputs_without_open_dimensions_stay_as_they_are(search, tmp_path):
    path = write(tmp_path / "m.toy", [node("Relu", "x", "y")], inputs={"x": ["float32", [2, 8]]})
    sized = search(path)
    assert (sized.inputs["x"].shape, sized.note) == ((2, 8), "")


def test_where_no_backend_is_quick_the_first_sizes_are_taken_untried(search, tmp_path):
    sized = search(product_with(tmp_path / "m.toy", 64))
    assert sized.inputs["x"].shape == (1, 8)
    assert sized.note == "x:[1,8], the default where a model leaves dimensions open; not tried"


def test_common_sizes_are_tried_until_one_works(quick, tmp_path):
    sized, tried = quick(product_with(tmp_path / "m.toy", 64))
    assert tried == [(1, 8), (1, 16), (1, 32), (1, 64)]
    assert sized.inputs["x"].shape == (1, 64)
    assert sized.note == "x:[1,64], chosen by what is common; tried, and it works"
    assert sized.outputs["y"].shape == (1, 2)


def test_sizes_that_are_wanted_come_first(quick, tmp_path):
    inputs = {"x": ["float32", ["n", 1, "height"]]}
    path = write(tmp_path / "m.toy", [node("MatMul", "x w", "y")], {"w": drawn(96, 2)}, inputs)
    sized, tried = quick(path, image=(96,))
    assert (tried, sized.inputs["x"].shape) == ([(1, 1, 96)], (1, 1, 96))


def test_where_nothing_works_it_is_said_what_was_tried_and_what_to_type(quick, tmp_path):
    path = write(tmp_path / "m.toy", [node("Unheard", "x", "y")], inputs={"x": ["float32", ["n", "m"]]})
    sized, tried = quick(path)
    assert 1 < len(tried) <= MOST
    assert sized.inputs["x"].shape == (1, 8)
    assert sized.note.startswith(f"no shape was found that works, {len(tried)} were tried, the first: x:[1,8] (")
    assert sized.note.endswith("; give one that does: --input-shapes x:[1,8]")


def test_shapes_that_run_and_leave_nothing_to_compare_are_the_last_resort(quick, tmp_path):
    path = write(tmp_path / "m.toy", [node("Sqrt", "x", "y")], inputs={"x": ["float32", ["n", "m"]]})
    sized, tried = quick(path, make_feed=lambda inputs: {name: -array for name, array in ones(inputs).items()})
    assert len(tried) > 1
    assert sized.note == ("x:[1,8], it runs, but output 'y' holds NaN; give other shapes with --input-shapes")
