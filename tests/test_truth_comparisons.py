"""Comparisons whose answer exact arithmetic gives: none passes that must not, none fails that must pass."""

from __future__ import annotations

import numpy as np
import pytest

from truth.comparisons import API, BLIND, COMMAND, COMPARER, EITHER, FAIL, PASS, Case, Counts, answer, draw, run


def test_no_comparison_passes_that_must_not():
    counts = run(0, 3000)
    assert [seeds for seeds in counts.wrong.values() if seeds] == []
    assert counts.blind > 100
    assert counts.ways[API] > 500 and counts.ways[COMPARER] > 1500 and counts.ways[COMMAND] == 3
    assert sum(counts.must_fail.values()) > 1000
    assert min(counts.cases.values()) > 100


@pytest.mark.parametrize(
    ("error", "atol", "wanted"), [(0.5, 0.4, FAIL), (0.5, 0.6, PASS), (0.5, 0.5, EITHER), (0.0, 0.0, PASS)]
)
def test_the_answers_are_those_of_the_rules(error, atol, wanted):
    options = {"atol": atol, "rtol": 0.0, "check_error_stat": "elemwise", "nan": "differ"}
    options["infinities_compare_equal"] = False
    mine, other = {"y": np.float32([1.0 + error])}, {"y": np.float32([1.0])}
    assert answer(Case(0, "simple", options, mine, other, "float", "one")) == wanted


def test_a_false_pass_would_be_counted(monkeypatch):
    monkeypatch.setattr("truth.comparisons.verdict_of", lambda case: PASS)
    counts = Counts()
    for seed in range(50):
        counts.add(draw(seed))
    assert counts.false_passes


@pytest.mark.parametrize(("said", "found"), [(PASS, "hidden"), (BLIND, "sighted")])
def test_a_wrong_word_on_what_could_have_failed_would_be_counted(monkeypatch, said, found):
    monkeypatch.setattr("truth.comparisons.verdict_of", lambda case: said)
    counts = Counts()
    for seed in range(200):
        counts.add(draw(seed))
    assert getattr(counts, found)
