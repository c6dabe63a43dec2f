"""Results of `compare_accuracy`: what they come to, counts by pair, and the text."""

from __future__ import annotations

import pytest

from polycmp.builtin.api.accuracy import AccuracyResult, AccuracyResults
from polycmp.compare import OutputComparison


def item(passed, inconclusive="", both=True):
    types = dict.fromkeys(("candidate_type", "reference_type"), "float32[4]" if both else "")
    return OutputComparison("y", "y", passed, "" if passed else "differs", inconclusive=inconclusive, **types)


def result(*iterations, reasons=()):
    made = AccuracyResult()
    made["new", "old"] = [{"y": one} for one in iterations]
    made.reasons.extend(reasons)
    return made


PASSED, FAILED, BLIND = item(True), item(False), item(False, "blind")


@pytest.mark.parametrize(
    ("made", "verdict", "stats"),
    [
        (result(PASSED, PASSED), "passed", (2, 0, 2)),
        (result(PASSED, FAILED), "failed", (1, 1, 2)),
        (result(PASSED, BLIND), "blind", (1, 1, 2)),
        (result(BLIND, FAILED), "failed", (0, 2, 2)),
        (result(PASSED, reasons=["unequal"]), "failed", (1, 0, 1)),
        (result(), "failed", (0, 0, 0)),
    ],
)
def test_it_is_true_only_where_all_agreed_and_could_have_differed(made, verdict, stats):
    assert (made.verdict, bool(made), made.stats()) == (verdict, verdict == "passed", stats)
    assert made.percentage(("new", "old")) == (stats[0] / stats[2] if stats[2] else 0.0)


def test_outputs_of_one_side_were_not_compared():
    assert result(PASSED).compared
    assert not result(item(False, both=False)).compared
    assert result(PASSED, FAILED).output_names() == ["y"]


def test_the_text_names_each_difference_with_its_iteration():
    assert result(PASSED, FAILED, reasons=["new and old ran unequal iterations"]).describe().splitlines() == [
        "new against old: 1 of 2 iterations passed",
        "  iteration 1, y: differs",
        "new and old ran unequal iterations",
    ]


def test_several_results_are_true_where_all_are_and_none_is_not():
    assert AccuracyResults([result(PASSED), result(PASSED)])
    assert not AccuracyResults([result(PASSED), result(FAILED)])
    assert not AccuracyResults()
