"""What every plugin may do that once only the core's own contributions could: facts in descriptors, typed objects."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from polycmp._inputs import PlanSource
from polycmp.plan import Choice, DataPlan
from polycmp.plugins import Registry
from polycmp.results.files import open_inputs
from polycmp.spec import (
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    FormatSpec,
    LoaderSpec,
    ObserverSpec,
    ReportSpec,
    RunnerSpec,
    Verdict,
)
from polycmp.tensors import ModelDescription, TensorEntry, TensorMetadata

#: A half too much in one output.
BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


def outputs(done):
    return done.report()["comparison_results"][0]["outputs"]


# --- all descriptors


@pytest.mark.parametrize(
    ("descriptor", "fields"),
    [
        (RunnerSpec, "name summary factory options accepts needs"),
        (LoaderSpec, "name summary factory options suffixes consumes produces"),
        (DataLoaderSpec, "name summary factory options"),
        (CompareFuncSpec, "name summary factory options"),
        (CommandSpec, "path summary target"),
        (ReportSpec, "suffix summary factory"),
        (FormatSpec, "suffix summary reader writer"),
        (ObserverSpec, "name summary factory"),
        (Verdict, "passed reason metrics"),
    ],
)
def test_arguments_that_were_first_stay_first(descriptor, fields):
    wanted = fields.split()
    assert [field.name for field in dataclasses.fields(descriptor)][: len(wanted)] == wanted


# --- compare functions


def test_a_detailed_verdict_fills_the_columns_of_reports(polycmp, model):
    done = polycmp("run", "m.toy", *BACKENDS, "--compare", "gap", "--report", "r.json")
    assert (done.status, "a gap of 0.5 in y" in done.words) == (1, True)
    assert outputs(done)["y"]["max_error"] == pytest.approx(0.5)
    assert outputs(done)["y"]["error_distribution"]["histogram"]


def test_a_plugins_function_joins_a_group(polycmp, model):
    done = polycmp("run", "m.toy", *BACKENDS, "--compare", "distance_metrics", "--report", "r.json")
    assert "gap" in outputs(done)["y"]["metrics"]


# --- data loaders


def test_a_data_loader_that_sweeps_shapes_sees_open_dimensions(polycmp, model):
    done = polycmp("run", "m.toy", "-b", "plain", "--data-loader", "edges", "--save-inputs", "i.box")
    assert done.status == 0, done.err
    assert 5 in next(iter(open_inputs(["i.box"])))["x"].shape


def plan(name, registry):
    return DataPlan(loader=Choice(name, registry.find_data_loader(name).spec.options()))


@pytest.mark.parametrize(("name", "synthetic"), [("random", True), ("edges", True), ("ramp", False)])
def test_a_source_says_whether_its_numbers_are_made_up(toybox, name, synthetic):
    registry = Registry.discover()
    source = PlanSource(plan(name, registry), registry)
    assert source.synthetic is synthetic


def test_a_source_that_knows_ranges_still_says_that_its_numbers_are_made_up(toybox):
    registry = Registry.discover()
    inputs = TensorMetadata({"x": TensorEntry(np.dtype(np.int64), (2,), range=(0.0, 9.0))})
    source = PlanSource(plan("random", registry), registry).with_descriptions(
        [ModelDescription(inputs, TensorMetadata())]
    )
    assert source.synthetic
    assert [feed["x"].max() <= 9 for feed in source(inputs)] == [True]


def test_inputs_of_a_file_are_real(polycmp, model, tmp_path, toybox):
    assert polycmp("run", "m.toy", "-b", "plain", "--save-inputs", "i.box").status == 0
    registry = Registry.discover()
    assert not PlanSource(DataPlan(files=(str(tmp_path / "i.box"),)), registry).synthetic


def test_the_base_classes_take_no_names_that_a_plugin_may_want():
    from polycmp.loader import Loader
    from polycmp.runner import Runner

    class Mine(Runner):
        def __init__(self):
            super().__init__("mine")
            self._inputs = self._arguments = self._measured = self._active = [1, {}]

        def activate_impl(self):
            self._inputs = self._arguments = self._measured = self._active = [2, {}]

        def get_input_metadata_impl(self):
            return TensorMetadata().add("x", "float32", [2])

        def infer_impl(self, feed_dict):
            return {"y": feed_dict["x"]}

    class MyLoader(Loader):
        def __init__(self, path):
            self._arguments = self._path = path

        def call_impl(self):
            return self._path

    for item in (Mine(), MyLoader("a")):
        taken = {name for name in vars(item) if not name.startswith(("_Runner__", "_Recorded__", "_Loader__"))}
        mine = {"_inputs", "_arguments", "_measured", "_active", "_path"}
        assert taken - mine <= {"name", "is_active", "inference_time", "notes", "backend_version"}
        assert "(" in item.source()
    with Mine() as runner:
        feed = {"x": np.zeros(2, np.float32)}
        assert runner.infer(feed)["y"] is feed["x"]
        assert runner.last_inference_time() >= 0
    assert MyLoader("a")() == "a"
