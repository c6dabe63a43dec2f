"""Why a comparison could not have failed, in words."""

from __future__ import annotations

import math

import pytest

from polycmp.compare.blind_words import holds_one, tolerances_of, why_scaled
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.spec import Verdict


@pytest.mark.parametrize(
    ("kind", "scale", "tolerance", "words"),
    [
        ("zeros", 1e-6, {"atol": 1e-5}, "the largest value of 'y' is 1e-06"),
        ("zeros", 1.0, {"atol": 1e-5, "rtol": 2.0}, "zeros in place of 'y'"),
        ("zeros", 1.0, {"atol": 1e-5, "rtol": 2.0}, "rtol is 2"),
        ("negated", 1.0, {"atol": 3.0}, "'y' with every sign flipped"),
        ("halved", 1.0, {"atol": 0.75}, "atol 0.75 is 75% of the largest value, 1"),
        ("larger", 1.0, {"rtol": 0.25}, "every value of 'y' made 10 % larger"),
    ],
)
def test_the_tolerance_that_lets_another_scale_pass_is_named(kind, scale, tolerance, words):
    assert words in why_scaled(kind, "y", scale, tolerance)


def test_of_several_functions_the_largest_tolerance_counts():
    verdicts = [DetailedVerdict(True, tolerance={"atol": atol, "rtol": 0.0}) for atol in (1e-5, 0.5)]
    assert tolerances_of([*verdicts, Verdict(True)]) == {"atol": 0.5, "rtol": 0.0}
    assert tolerances_of([Verdict(True)]) == {}
    assert math.isnan(tolerances_of([DetailedVerdict(True, tolerance={"atol": 1.0})])["rtol"])


@pytest.mark.parametrize(
    ("value", "size", "is_bool", "words"),
    [
        (0.5, 1, False, "its only element is 0.5"),
        (0.5, 4, False, "the reference holds 0.5 everywhere"),
        (1.0, 4, True, "the reference holds True everywhere"),
        ("no", 4, False, "the reference holds 'no' everywhere"),
    ],
)
def test_an_output_of_one_number_is_shown_with_it(value, size, is_bool, words):
    assert holds_one(value, size=size, is_bool=is_bool) == words
