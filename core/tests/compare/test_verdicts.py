"""Which of several verdicts counts: over iterations, compare functions, outputs and windows."""

from __future__ import annotations

import pytest

from polycmp.compare.verdicts import (
    DetailedVerdict,
    ErrorStats,
    OutputComparison,
    PairComparison,
    WorstIterations,
    inconclusive,
    judged_together,
    merge_windows,
    verdict_over,
)
from polycmp.spec import Verdict

ALL = ("failed", "undecided", "blind", "passed")


def output(verdict, name="y", **more):
    return OutputComparison(name, name, verdict == "passed", inconclusive=inconclusive(verdict), **more)


def pair(*verdicts, **more):
    outputs = {f"y{index}": output(verdict, f"y{index}") for index, verdict in enumerate(verdicts)}
    verdict = verdict_over(outputs.values())
    return PairComparison("a", "b", verdict == "passed", outputs, 1, inconclusive=inconclusive(verdict), **more)


@pytest.mark.parametrize("place", range(4))
def test_the_weightiest_verdict_counts_wherever_it_stands(place):
    verdicts = list(ALL[place:])
    for turned in (verdicts, verdicts[::-1]):
        assert verdict_over(map(output, turned)) == ALL[place]
        assert pair(*turned).verdict == ALL[place]
        assert merge_windows([pair(item) for item in turned]).verdict == ALL[place]
        together, _ = judged_together(
            {
                str(index): Verdict(item == "passed", inconclusive=inconclusive(item))
                for index, item in enumerate(turned)
            }
        )
        assert together == ALL[place]


def test_nothing_has_passed():
    assert verdict_over([]) == "passed"


@pytest.mark.parametrize(
    ("iterations", "verdict", "failed"),
    [
        (("passed", "failed", "passed"), "failed", 1),
        (("passed", "undecided"), "undecided", 1),
        (("blind", "passed"), "passed", 1),  # what could have failed once, and did not, has been compared
        (("blind", "blind"), "blind", 2),
    ],
)
def test_an_output_is_as_bad_as_its_worst_iteration(iterations, verdict, failed):
    worst = WorstIterations()
    for number, item in enumerate(iterations):
        worst.add([output(item, worst_iteration=number, is_empty=number == 0)])
    kept = worst.outputs["y"]
    assert (kept.verdict, kept.iterations, kept.failed_iterations) == (verdict, len(iterations), failed)
    assert iterations[kept.worst_iteration] == verdict
    assert not kept.is_empty
    assert worst.verdict == verdict


def stats(failed, largest):
    return ErrorStats(count=9, failed=failed, max_abs=largest, mean_abs=0.0, max_rel=0.0, mean_rel=0.0)


def test_of_two_failures_the_one_without_figures_counts_and_then_the_one_with_more_elements():
    worst = WorstIterations()
    for number, found in enumerate([stats(1, 9.0), stats(2, 1.0), stats(2, 3.0), None, stats(8, 8.0)]):
        verdicts = {"simple": DetailedVerdict(False, stats=found)}
        worst.add([output("failed", worst_iteration=number, verdicts=verdicts)])
        assert worst.outputs["y"].worst_iteration == min(number, 3)


def test_reasons_are_those_of_the_functions_that_decided():
    verdicts = {"simple": Verdict(False, "too far"), "own": Verdict(True, "well"), "l2": Verdict(False)}
    assert judged_together(verdicts) == ("failed", ["simple: too far", "l2: differs"])
    assert judged_together({"own": Verdict(False, "odd")}) == ("failed", ["odd"])
    assert judged_together({"own": Verdict(True)}) == ("passed", [])


def test_a_pair_that_failed_as_a_whole_stays_failed_whatever_its_outputs_become():
    changed = {"y0": output("passed", "y0")}
    assert pair("failed").with_outputs(changed).passed
    assert pair("failed", reason="unequal iterations").with_outputs(changed).verdict == "failed"


def test_windows_of_a_pair_are_one_comparison():
    first, second = pair("passed"), PairComparison("a", "b", False, {"z": output("failed", "z")}, 3, "iterations")
    empty = PairComparison("a", "b", False, {}, 0, "no output in common")
    merged = merge_windows([first, second, empty])
    assert (list(merged.outputs), merged.iterations, merged.reason) == (["y0", "z"], 3, "iterations")
    assert merge_windows([first, empty]).passed
