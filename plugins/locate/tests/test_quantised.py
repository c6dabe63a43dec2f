"""Errors in steps of a scale: what is rounding, a factor, a range, a mask."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp_locate.rounding.quantised import StepError, step_error


@pytest.mark.parametrize(
    ("changes", "scaled", "only", "outliers"),
    [
        ({}, False, False, False),
        ({"gain": 1 + 2.0**-5}, False, False, False),
        ({"gain": math.nextafter(1 + 2.0**-5, 2)}, True, True, False),
        ({"gain": 1 - 2.0**-5 - 1e-9}, True, True, False),
        ({"gain": 2.0, "unexplained": 2.0**-6}, True, True, False),
        ({"gain": 2.0, "unexplained": math.nextafter(2.0**-6, 1)}, True, False, False),
        ({"gain": 2.0**-12}, True, False, False),
        ({"gain": math.nextafter(2.0**-12, 1)}, True, True, False),
        ({"beyond": 2.0**-6}, False, False, False),
        ({"beyond": math.nextafter(2.0**-6, 1)}, False, False, True),
        ({"beyond": 1e-6, "largest": 0.25}, False, False, False),
        ({"beyond": 1e-6, "largest": math.nextafter(0.25, 1)}, False, False, True),
    ],
)
def test_a_factor_and_a_range_that_are_more_than_rounding(changes, scaled, only, outliers):
    error = StepError(
        **{"gain": 1.0, "beyond": 0.0, "unexplained": 0.0, "largest": 0.0, "low": -1.0, "high": 1.0, **changes}
    )
    assert (error.is_scaled, error.is_only_scaled, error.has_outliers) == (scaled, only, outliers)
    assert error.is_rounding is not (scaled or outliers)


@pytest.mark.parametrize(("left", "lost"), [(0.0, True), (0.49, True), (0.51, False), (1.0, False)])
def test_numbers_beside_masks_are_lost_where_half_of_them_is_error(left, lost):
    other = np.array([-1e4, 1.0, 1.0])
    own = np.array([-1e4, left, left])
    found = step_error(own, other, 0.5, np.array([False, True, True]))
    assert bool(found.drowned) is lost


def in_steps(values, step):
    return np.rint(values / step) * step


@pytest.mark.parametrize(("planted", "is_rounding"), [(0.0, True), (1.0, False)], ids=["rounding", "code of 0"])
def test_all_of_a_channel_may_be_rounded_in_one_direction_by_steps_of_a_range_that_is_hardly_used(planted, is_rounding):
    rng, step = np.random.default_rng(0), 0.12
    exact = rng.uniform(-1, 1, (1, 8, 172))
    exact[0, 3] = rng.uniform(0, 0.3 * step, 172)  # less than half a step: all become 0
    made = in_steps(exact, step) + planted * step
    fine = [exact + rng.uniform(-0.002, 0.002, exact.shape) for _ in range(4)]
    assert step_error(made, exact, 2.0**-6, step=step, measured=fine).is_rounding == is_rounding


@pytest.mark.parametrize(("factor", "is_rounding"), [(1.0, True), (1.6, False)], ids=["chance", "scale"])
def test_eight_numbers_keep_a_factor_by_chance(factor, is_rounding):
    exact, step = np.array([[-1.0, 0.52, 0.3, -0.61], [0.87, -0.3, 0.43, -0.45]]), 0.08
    steps = np.array([[0.3, 1.1, 0.3, 1.1], [0.3, 0.3, 0.3, 0.3]])
    made = factor * (exact + steps * step * np.sign(exact))
    away = 0.03 * np.array([[1, 1, -1, -1], [1, -1, 1, -1]])
    fine = [exact + away - exact * np.vdot(away, exact) / np.vdot(exact, exact)] * 4  # which happens to keep none
    assert step_error(made, exact, 2.0**-4, step=step, measured=fine).is_scaled != is_rounding


def test_a_mask_that_the_scale_cannot_reach_is_told_as_clipped():
    mask = np.zeros((8, 8), np.float32)
    mask[:, 6:] = np.finfo(np.float32).min
    found = step_error(np.maximum(mask, -128), mask, 2.0**-4)
    assert found.has_outliers
    assert not found.is_only_scaled
    assert (found.low, found.high) == (-128, 0)
