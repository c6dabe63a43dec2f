"""Options of comparing for some of a model's outputs."""

from __future__ import annotations

import pytest

from polycmp.compare import SimpleOptions
from polycmp.plan import DEFAULT_COMPARE, Choice, ComparePlan
from polycmp_locate.reduce.narrowed import for_outputs, with_numbers


def simple(tolerance="", **options):
    return ComparePlan((Choice(DEFAULT_COMPARE, SimpleOptions(**options)),), tolerance=tolerance)


def test_what_speaks_of_other_outputs_goes_and_of_all_stays():
    plan = for_outputs(simple(atol={"": 1.0, "a": 2.0, "b": 3.0, "a*": 4.0}, rtol={"c": 5.0}), ["a", "d"])
    assert plan == simple(atol={"": 1.0, "a": 2.0, "a*": 4.0}, rtol={})
    without_options = ComparePlan((Choice("l2"),))
    assert for_outputs(without_options, ["a"]) == without_options


@pytest.mark.parametrize("tolerance", ["", "auto"])
def test_a_case_is_judged_by_numbers_where_rounding_was_measured(tolerance):
    assert with_numbers(simple(tolerance)) == simple(atol={"": 1e-5}, rtol={"": 1e-5})


@pytest.mark.parametrize("plan", [simple(atol={"": 1e-3}), simple("tolerances.json"), ComparePlan((Choice("l2"),))])
def test_what_was_given_stays(plan):
    assert with_numbers(plan) == plan
