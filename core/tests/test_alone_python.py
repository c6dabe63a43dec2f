"""The Python face on runners of the toy box, and the contract of runners and loaders held against them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toymodels import drawn, small

from polycmp.comparator import Comparator, CompareFunc, DataLoader, PostprocessFunc, RunResults
from polycmp.errors import BackendError, DataError, UsageError
from polycmp.func import extend
from polycmp.json import load_json, save_json
from polycmp.tensors import TensorMetadata
from polycmp.testing import CompareFuncContract, DataLoaderContract, LoaderContract, RunnerContract
from polycmp.values import parse_shape

with pytest.MonkeyPatch.context() as path:  # its metadata is not to be found by the tests of other files
    path.syspath_prepend(str(Path(__file__).parent / "toydist"))
    from toybox.compare import make_signs
    from toybox.data import make_ramp
    from toybox.loader import CutToy, ToyFromPath
    from toybox.model import Node, Toy, parse
    from toybox.plugin import RampOptions, RunnerOptions, SignsOptions
    from toybox.runner import ToyRunner


@pytest.fixture
def runners(tmp_path):
    load = ToyFromPath(str(small(tmp_path / "m.toy")))
    wrong = RunnerOptions(fault="add", at="y", amount=0.5)
    return ToyRunner(load, name="good"), ToyRunner(load, wrong, "bad"), ToyRunner(load, name="ref")


def test_runners_are_run_and_compared(runners):
    results = Comparator.run(runners, DataLoader(iterations=3, input_shapes={"x": (2, 8)}), warm_up=1)
    assert list(results.keys()) == ["good", "bad", "ref"]
    accuracy = Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-6))
    assert not accuracy
    assert (accuracy.percentage(("good", "ref")), accuracy.percentage(("bad", "ref"))) == (1.0, 0.0)
    assert "bad against ref: 0 of 3 iterations passed" in accuracy.describe()
    assert Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=0.6))
    assert Comparator.validate(results, check_inf=True)


@pytest.mark.parametrize("streaming", [False, True])
def test_results_are_saved_and_loaded(runners, tmp_path, streaming):
    path = str(tmp_path / "o.json")
    results = Comparator.run(runners[:1], streaming=streaming, save_outputs_path=path)
    loaded = RunResults.load(path)
    np.testing.assert_array_equal(loaded["good"][0]["y"], results["good"][0]["y"])
    save_json(results, str(tmp_path / "o.json"))
    assert load_json(str(tmp_path / "o.json"))["good"][0]["y"].shape == (1, 8)


def test_outputs_are_changed_before_they_are_compared(runners):
    results = Comparator.postprocess(Comparator.run(runners), PostprocessFunc.top_k(1))
    assert results["bad"][0]["y"].shape == (1, 1)
    assert Comparator.compare_accuracy(results, compare_func=CompareFunc.indices())


def test_the_error_of_a_runner_is_the_caller_s(tmp_path):
    load = ToyFromPath(str(small(tmp_path / "m.toy")))
    with pytest.raises(BackendError, match="has had enough"):
        Comparator.run([ToyRunner(load, RunnerOptions(fault="raise", at="h"))])


def test_a_runner_on_its_own(runners):
    with runners[0] as runner:
        assert runner.get_input_metadata()["x"].shape == ("n", 8)
        made = runner.infer({"x": np.ones((4, 8), np.float32)})
        assert made["y"].sum(axis=1) == pytest.approx(np.ones(4), rel=1e-5)
        with pytest.raises(DataError, match="has shape"):
            runner.infer({"x": np.ones((4, 7), np.float32)})
    with pytest.raises(BackendError, match="needs an active runner"):
        runner.infer({})


def test_a_loader_is_extended(tmp_path):
    @extend(ToyFromPath(str(small(tmp_path / "m.toy"))))
    def count(toy):
        return len(toy.nodes)

    assert count() == 3


def test_values_as_typed():
    assert parse_shape("[1,8]") == (1, 8)
    with pytest.raises(UsageError, match="is not a shape"):
        parse_shape("[1,a]")


TOY = Toy(
    {"x": ("float32", ("n", 4))},
    ("y", "s"),
    (Node("MatMul", ("x", "w"), ("h",)), Node("Relu", ("h",), ("y",)), Node("Shape", ("x",), ("s",))),
    {"w": drawn(4, 3)},
)


class TestToyRunner(RunnerContract):
    capabilities = {"dynamic_shapes", "broken_model"}
    atol = 1e-6

    def load(self):
        return replace(TOY)

    def make_runner(self, load):
        return ToyRunner(load, name="toy")

    def feeds(self):
        return [{"x": np.full((2, 4), fill, np.float32)} for fill in (0.5, -1.0)]

    def other_shapes(self):
        return {"x": np.ones((5, 4), np.float32)}

    def load_broken(self):
        return parse(b"{}", "broken.toy")

    def expected(self, feed):
        weights = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
        return {"y": np.maximum(feed["x"] @ weights, 0), "s": np.array(feed["x"].shape)}


def whole():
    return TOY


class TestCutToy(LoaderContract):
    capabilities = {"broken_source"}

    def make_loader(self):
        return CutToy(whole, TensorMetadata().add("h", "float32", (2, 3)), ["y"])

    def make_broken(self):
        return CutToy(ToyFromPath("no/such.toy"), TensorMetadata(), ["y"])


class TestRamp(DataLoaderContract):
    capabilities = {"several", "dynamic_shapes", "repeatable"}

    def make_data_loader(self):
        return make_ramp(RampOptions())


class TestSigns(CompareFuncContract):
    capabilities = {"integer", "empty", "scalar"}

    def make_compare_func(self):
        return make_signs(SignsOptions())

    def different(self):
        return np.array([1.0, 2.0]), np.array([1.0, -2.0])
