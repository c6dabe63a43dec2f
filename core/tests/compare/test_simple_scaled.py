"""`scale_atol`: the absolute tolerance in units of the output's largest value."""

from __future__ import annotations

import numpy as np
import pytest
from judges import simple

LARGE = np.array([1e4, 1.0, -3e3], np.float32)


def test_what_rounding_leaves_of_large_numbers_is_no_difference():
    made = LARGE + np.float32(0.05)
    plain, scaled = (simple(scale_atol=on)(made, LARGE, output="y") for on in (False, True))
    assert (plain.passed, scaled.passed) == (False, True)
    assert scaled.tolerance["atol"] == pytest.approx(0.1)


def test_more_than_that_still_is():
    made = LARGE + np.float32(0.2)
    assert not simple(scale_atol=True)(made, LARGE, output="y").passed


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_small_outputs_keep_the_tolerance_as_it_is(scale):
    reference = np.array([0.5, 1.0], np.float32) * np.float32(scale)
    verdict = simple(scale_atol=True)(reference + np.float32(1e-4), reference, output="y")
    assert not verdict.passed
    assert verdict.tolerance["atol"] == 1e-5


def test_infinity_and_nan_do_not_scale():
    reference = np.array([np.inf, np.nan, 2.0], np.float32)
    verdict = simple(scale_atol=True, nan="equal", infinities_compare_equal=True)(reference, reference)
    assert verdict.passed
    assert verdict.tolerance["atol"] == pytest.approx(2e-5)
