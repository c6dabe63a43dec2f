"""Whole models on both sides, and the trials with them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from located_rows import row

from polycmp_locate.trials.whole import WholeModel


def test_an_output_outside_the_tolerance_fails_with_its_error(whole):
    assert whole.failing.keys() == whole.beyond.keys() == {"y"}
    assert whole.failing["y"] == whole.error("y", whole.plain["y"]) > 0.1
    assert whole.error("y", whole.expected["y"]) == 0.0
    assert not whole.is_explained("y", whole.plain["y"], whole.expected["y"])  # nothing measures rounding here


@pytest.mark.parametrize(("tensor", "leads"), [("h2", False), ("h5", True), ("h9", True), ("y", True)])
def test_an_error_leads_to_the_outputs_where_the_reference_s_numbers_make_them_right(whole, tensor, leads):
    """h2 is the same on both sides, so that it is not what makes y wrong; y itself is."""
    assert whole.leads(row(tensor=tensor), {"y"}) is leads


@pytest.mark.parametrize(("tensor", "cures"), [("h2", False), ("h5", True), ("h9", True), ("y", True)])
def test_an_output_is_cured_by_a_tensor_that_makes_it_pass(whole, tensor, cures):
    assert whole.cures(row(tensor=tensor), {"y"}) is cures


@pytest.mark.parametrize(("compiles", "trials"), [(False, 8), (True, 2)])
def test_no_more_trials_are_made_than_allowed_and_fewer_where_each_is_built(whole, compiles, trials):
    whole.setting.candidate.compiles = compiles
    found = [whole.leads(row(tensor="h2"), {"y"}) for _ in range(trials + 1)]
    assert found == [*[False] * trials, True]
    assert whole.cures(row(tensor="h2"), {"y"}) is None


@pytest.mark.parametrize(
    ("passed", "inconclusive", "explained"), [(True, "", True), (False, "undecided", True), (False, "", False)]
)
def test_what_rounding_explains_is_not_beyond_it(whole, passed, inconclusive, explained):
    verdict = SimpleNamespace(passed=passed, inconclusive=inconclusive)
    setting = replace(whole.setting, judge_by_rounding=lambda feed, outputs: lambda *arrays, output: verdict)
    found = WholeModel(setting, whole.feed, whole.plain, whole.expected)
    assert found.failing.keys() == {"y"}
    assert found.is_explained("y", found.plain["y"], found.expected["y"]) is explained
    assert found.beyond.keys() == (set() if explained else {"y"})


def test_each_side_is_held_against_the_other(whole):
    candidate, reference = whole.setting.candidate, whole.setting.reference
    assert whole.sides(candidate) == (candidate, reference)
    assert whole.sides(reference) == (reference, candidate)
    assert (whole.target(candidate), whole.target(reference)) == (whole.expected, whole.plain)


@pytest.mark.parametrize(("part", "gone"), [(1.0, True), (0.55, True), (0.45, False), (0.0, False)])
def test_most_of_an_error_is_gone_from_half_of_it_on(whole, part, gone):
    nearer = {"y": whole.plain["y"] + part * (whole.expected["y"] - whole.plain["y"])}
    candidate = whole.setting.candidate
    assert whole.removes(candidate, ["y"], whole.failing["y"])(nearer) is gone
