"""Results of two runs in Python: which are compared, and by what labels."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.comparator import Comparator, CompareFunc, IterationResult, RunResults
from polycmp.errors import ComparisonError, DataError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_run_compared_with_itself_or_with_none():
    results = RunResults([("a", [IterationResult({"y": X})]), ("b", [IterationResult({"y": X + 1})])])
    for pair, words in [
        ((0, 5), "no run at position 5"),
        ((-3, 0), "no run"),
        ((0, 0), "itself"),
        ((1, -1), "its"),
    ]:
        with pytest.raises(ValueError, match=words):
            Comparator.compare_accuracy(results, comparisons=[pair])
    with pytest.raises(ValueError, match="not a pair of positions"):
        Comparator.compare_accuracy(results, comparisons=[(0, "b")])
    assert not Comparator.compare_accuracy(results, comparisons=[(0, -1)])


def test_two_runs_of_one_label_are_both_judged():
    runs = [("a", [IterationResult({"y": X + 1})]), ("a", [IterationResult({"y": X})])]
    result = Comparator.compare_accuracy(RunResults([*runs, ("b", [IterationResult({"y": X})])]))
    assert list(result) == [("a", "b"), ("a#2", "b")]
    assert not result


def runs(**values):
    """Return runs with an output `y` of ones and more, by label and iteration; None for no such iteration."""
    return RunResults(
        (label, [IterationResult({"y": np.full(4, 1.0 + more)}) for more in iterations])
        for label, iterations in values.items()
    )


def test_the_first_difference_ends_the_comparison_if_asked_to():
    results = runs(a=(0.0, 0.5, 0.5), b=(0.0, 0.0, 0.0))
    assert len(Comparator.compare_accuracy(results)["a", "b"]) == 3
    assert len(Comparator.compare_accuracy(results, fail_fast=True)["a", "b"]) == 2


def test_unequal_numbers_of_iterations_differ():
    result = Comparator.compare_accuracy(runs(a=(0.0, 0.0), b=(0.0,)))
    assert not result
    assert result.verdict == "failed"
    assert result.reasons == ["a and b ran unequal iterations"]
    assert result.stats() == (1, 0, 1)


def test_the_reference_is_the_last_run_or_the_one_that_is_named():
    results = runs(a=(0.0,), b=(0.0,), c=(0.0,))
    assert list(Comparator.compare_accuracy(results)) == [("a", "c"), ("b", "c")]
    assert list(Comparator.compare_accuracy(results, reference="a")) == [("b", "a"), ("c", "a")]
    with pytest.raises(DataError, match="no run is called 'd'"):
        Comparator.compare_accuracy(results, reference="d")
    with pytest.raises(ComparisonError, match="needs two runs"):
        Comparator.compare_accuracy(runs(a=(0.0,)))


def test_several_results_are_compared_side_by_side():
    result = Comparator.compare_accuracy([runs(a=(0.0, 0.0)), runs(a=(0.0, 0.5))])
    assert list(result) == [("a", "a#2")]
    assert result.stats() == (1, 1, 2)


def test_a_stream_is_held_for_one_iteration_only_and_closed():
    closed = []

    def stream():
        try:
            for number in range(100):
                yield runs(a=(float(number),), b=(0.0,))
        finally:
            closed.append(True)

    assert len(Comparator.compare_accuracy(stream(), fail_fast=True)["a", "b"]) == 2
    assert closed == [True]


def test_several_functions_have_a_result_each_and_what_one_would_have_seen_is_not_blind():
    results = runs(a=(0.0, 0.01), b=(0.0, 0.0))
    wide, exact = CompareFunc.simple(atol=100, rtol=0), CompareFunc.simple(atol=0.02, rtol=0)
    assert Comparator.compare_accuracy(results, compare_func=wide).verdict == "blind"
    both = Comparator.compare_accuracy(results, compare_func=[wide, exact])
    assert both
    assert [result.verdict for result in both] == ["passed", "passed"]
    failing = Comparator.compare_accuracy(results, compare_func=[wide, CompareFunc.simple(atol=1e-6, rtol=0)])
    assert not failing
    assert [result.verdict for result in failing] == ["passed", "failed"]
