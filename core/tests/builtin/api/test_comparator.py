"""The Python face on runners of the toy box."""

from __future__ import annotations

import numpy as np
import pytest
from commandline import TOYDIST
from toymodels import small

from polycmp.builtin.api.accuracy import AccuracyResult
from polycmp.comparator import Comparator, CompareFunc, DataLoader, IterationResult, PostprocessFunc, RunResults
from polycmp.errors import BackendError, DataError, InvalidValueError
from polycmp.func import extend
from polycmp.json import load_json, save_json
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

with pytest.MonkeyPatch.context() as path:  # its metadata is not to be found by the tests of other files
    path.syspath_prepend(str(TOYDIST))
    from toybox.loader import ToyFromPath
    from toybox.plugin import RunnerOptions
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
    wide = CompareFunc.simple(atol=0.6)
    assert Comparator.compare_accuracy(results, compare_func=wide).verdict == "blind"
    assert Comparator.compare_accuracy(results, compare_func=wide, allow_blind=True)
    assert Comparator.validate(results, check_inf=True)


@pytest.mark.parametrize("streaming", [False, True])
def test_results_are_saved_and_loaded(runners, tmp_path, streaming):
    path = str(tmp_path / "o.json")
    results = Comparator.run(runners[:1], streaming=streaming, save_outputs_path=path)
    if streaming:
        assert not (tmp_path / "o.json").exists()
        (results,) = results
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


def two_runs(*errors: float) -> RunResults:
    expected = [IterationResult({"y": np.ones(4)}) for _ in errors]
    made = [IterationResult({"y": np.ones(4) + error}) for error in errors]
    return RunResults([("candidate", made), ("reference", expected)])


class Half(Runner):
    """Halves its input."""

    def get_input_metadata_impl(self) -> TensorMetadata:
        return TensorMetadata().add("x", "float32", (-1, 2))

    def infer_impl(self, feed_dict):
        return {"y": np.asarray(feed_dict["x"]) / 2}


def test_the_mean_over_iterations_is_judged():
    function = CompareFunc.simple("max", atol=1e-3, rtol=0)
    results = two_runs(0.0, 1.6e-3)
    assert not Comparator.compare_accuracy(results, compare_func=function)
    averaged = Comparator.compare_accuracy(results, compare_func=function, check_average=True)
    assert averaged
    assert averaged.stats() == (1, 0, 1)
    assert averaged.output_names() == ["y"]
    assert isinstance(averaged, AccuracyResult)
    assert not AccuracyResult()  # where nothing was compared nothing agreed
    assert not Comparator.compare_accuracy(two_runs(0.0, 2.6e-3), compare_func=function, check_average=True)


def test_the_mean_of_an_error_over_iterations_is_not_rounded_to_nothing():
    made = [IterationResult({"y": np.array([error])}) for error in (5e-324, 0.0)]
    results = RunResults([("candidate", made), ("reference", [IterationResult({"y": np.zeros(1)})] * 2)])
    function = CompareFunc.simple("max", atol=0, rtol=0)
    assert not Comparator.compare_accuracy(results, compare_func=function, check_average=True)


@pytest.mark.parametrize("function", [None, CompareFunc.indices(), lambda a, b, *, output: True])
def test_a_mean_that_does_not_exist_is_refused(function):
    with pytest.raises(InvalidValueError, match="check_average"):
        Comparator.compare_accuracy(two_runs(0.0), compare_func=function, check_average=True)


def test_the_default_pairs_compare_every_run_with_the_last():
    runs = RunResults((name, [IterationResult({"y": np.zeros(1)})]) for name in "abc")
    assert Comparator.default_comparisons(runs) == [(0, 2), (1, 2)]


def test_inputs_are_saved_as_bare_bytes(tmp_path):
    feed = {"x": np.array([[1.0, 2.0]], np.float32)}
    Comparator.run([Half("half")], [feed], save_input_blob_path=str(tmp_path))
    (written,) = tmp_path.rglob("*.bin")
    assert np.frombuffer(written.read_bytes(), np.float32).tolist() == [1.0, 2.0]
