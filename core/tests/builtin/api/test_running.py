"""Streams of results: `Comparator.run(streaming=True)`, and what takes them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from polycmp.comparator import (
    AccuracyResults,
    Comparator,
    CompareFunc,
    IterationResult,
    L2CompareFunc,
    RunResults,
    SimpleCompareFunc,
)
from polycmp.errors import BackendError, ComparisonError, DataError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

FEEDS = [{"x": np.full(4, value, np.float32)} for value in range(5)]


class Adding(Runner):
    """Adds to its input, from some call on."""

    def __init__(self, name, offset=0.0, first=0):
        super().__init__(name)
        self.offset, self.first, self.calls, self.made = offset, first, 0, []

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, (4,))

    def infer_impl(self, feed_dict):
        self.calls += 1
        y = feed_dict["x"] + np.float32(self.offset if self.calls > self.first else 0.0)
        self.made.append(weakref.ref(y))
        return {"y": y}


def test_nothing_runs_before_it_is_asked_for_and_one_iteration_is_held():
    runner = Adding("a")
    stream = Comparator.run([runner], FEEDS, streaming=True)
    assert runner.calls == 0
    step = next(stream)
    assert (runner.calls, list(step.keys()), len(step["a"])) == (1, ["a"], 1)
    assert step["a"][0]["y"].tolist() == [0.0] * 4
    for expected, step in enumerate(stream, start=1):
        assert step["a"][0]["y"].tolist() == [float(expected)] * 4
    assert runner.calls == 5
    assert not runner.is_active
    del step
    gc.collect()
    assert [made() for made in runner.made[:-1]] == [None] * 4


def test_a_stream_that_is_given_up_ends_its_runners():
    runner = Adding("a")
    stream = Comparator.run([runner], FEEDS, streaming=True)
    next(stream)
    assert runner.is_active
    stream.close()
    assert (runner.is_active, runner.calls) == (False, 1)


@pytest.mark.parametrize("several", [True, False])
def test_runs_of_one_stream_are_compared_as_they_come(several):
    runners = [Adding("a", 1.0, first=3), Adding("b")]
    stream = Comparator.run(runners, FEEDS, streaming=True)
    accuracy = Comparator.compare_accuracy([stream] if several else stream)
    assert not accuracy
    assert accuracy.stats(("a", "b")) == (3, 2, 5)
    assert not any(runner.is_active for runner in runners)


def test_two_streams_are_compared_with_each_other():
    accuracy = Comparator.compare_accuracy(
        [
            Comparator.run([Adding("same")], FEEDS, streaming=True),
            Comparator.run([Adding("same")], FEEDS, streaming=True),
        ]
    )
    assert accuracy
    assert accuracy.stats(("same", "same#2")) == (5, 0, 5)


def test_a_stream_against_a_saved_run(tmp_path):
    for _ in Comparator.run([Adding("golden")], FEEDS, streaming=True, save_outputs_path=str(tmp_path / "golden")):
        pass
    assert len(list((tmp_path / "golden").iterdir())) == 5
    for offset, same in ((0.0, True), (0.5, False)):
        live = Comparator.run([Adding("live", offset)], FEEDS, streaming=True)
        saved = RunResults.load_streaming(str(tmp_path / "golden"))
        assert bool(Comparator.compare_accuracy([live, saved])) is same


def test_a_stream_against_results_that_are_held():
    held = Comparator.run([Adding("held")], FEEDS)
    assert Comparator.compare_accuracy([held, Comparator.run([Adding("live")], FEEDS, streaming=True)])


@pytest.mark.parametrize("shorter", [0, 1])
def test_streams_of_unequal_length_do_not_pass(shorter):
    lengths = [FEEDS, FEEDS]
    lengths[shorter] = FEEDS[:3]
    streams = [Comparator.run([Adding(f"r{number}")], feeds, streaming=True) for number, feeds in enumerate(lengths)]
    accuracy = Comparator.compare_accuracy(streams)
    assert not accuracy
    assert accuracy.reasons == ["r0 and r1 ran unequal iterations"]


def test_the_first_difference_ends_the_run_if_that_is_asked_for():
    runners = [Adding("a", 1.0, first=1), Adding("b")]
    assert not Comparator.compare_accuracy(Comparator.run(runners, FEEDS, streaming=True), fail_fast=True)
    assert runners[0].calls == 2
    assert not runners[0].is_active


def test_means_over_a_stream():
    function = CompareFunc.simple(atol=0.3, check_error_stat="mean")
    for offset, passes in ((0.5, True), (1.0, False)):
        runners = [Adding("a", offset, first=3), Adding("b")]
        stream = Comparator.run(runners, FEEDS, streaming=True)
        assert bool(Comparator.compare_accuracy(stream, compare_func=function, check_average=True)) is passes


def test_several_functions_give_a_result_each():
    runners = [Adding("a", 0.5), Adding("b")]
    stream = Comparator.run(runners, FEEDS, streaming=True)
    functions = [SimpleCompareFunc(atol=0.6), L2CompareFunc(l2_threshold=0.1)]
    results = Comparator.compare_accuracy(stream, compare_func=functions, allow_blind=True)
    assert isinstance(results, AccuracyResults)
    assert [bool(result) for result in results] == [True, False]
    assert not results
    assert not AccuracyResults()


def test_streams_are_changed_and_validated_as_they_come():
    doubled = Comparator.postprocess(
        Comparator.run([Adding("a")], FEEDS, streaming=True),
        lambda outputs: IterationResult({name: 2 * array for name, array in outputs.items()}),
    )
    values = [float(step["a"][0]["y"][0]) for step in Comparator.validate(doubled)]
    assert values == [0.0, 2.0, 4.0, 6.0, 8.0]
    stream = Comparator.validate(Comparator.run([Adding("bad", np.nan, first=2)], FEEDS, streaming=True))
    assert [list(step.keys()) for step in (next(stream), next(stream))] == [["bad"], ["bad"]]
    with pytest.raises(DataError, match=r"bad.*iteration 2 holds NaN"):
        next(stream)
    held = Comparator.run([Adding("a")], FEEDS)
    assert Comparator.validate([held, held]) == [True, True]


def test_an_error_in_the_middle_is_the_runner_s_and_ends_the_others():
    class Failing(Adding):
        def infer_impl(self, feed_dict):
            if self.calls == 2:
                raise BackendError("has had enough")
            return super().infer_impl(feed_dict)

    runners = [Failing("f"), Adding("a")]
    with pytest.raises(BackendError, match="has had enough"):
        Comparator.compare_accuracy(Comparator.run(runners, FEEDS, streaming=True))
    assert not any(runner.is_active for runner in runners)


def test_a_stream_of_nothing_is_no_comparison():
    with pytest.raises(ComparisonError, match="needs two runs"):
        Comparator.compare_accuracy(iter(()))
