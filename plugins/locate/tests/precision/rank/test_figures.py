"""Figures of tensors in a smaller type, on numbers that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp_locate.pairing.codes import Quantisation
from polycmp_locate.precision.rank.figures import (
    dynamic_steps,
    float_codes,
    float_order,
    integer_codes,
    peak_channel,
    ratio_db,
    steps_apart,
)


def test_a_ratio_of_ten_in_amplitude_is_twenty_decibels():
    assert ratio_db(np.array([10.0, 10.0]), np.array([11.0, 9.0])) == pytest.approx(20)


def test_equal_tensors_have_an_infinite_ratio_and_new_infinities_none():
    one = np.array([1.0, 2.0])
    assert ratio_db(one, one) == math.inf
    assert ratio_db(one, np.array([1.0, np.inf])) == -math.inf
    assert ratio_db(one, np.array([1.0, np.nan])) == -math.inf


def test_masks_and_infinities_of_the_reference_do_not_count():
    expected = np.array([10.0, 10.0, -3.4e38, -np.inf], np.float32)
    assert ratio_db(expected, np.array([11.0, 9.0, -65504.0, -65504.0])) == pytest.approx(20)


def test_float16_saturates_and_loses_what_is_small():
    codes = float_codes(np.array([1e5, 1.0, 1e-9, 0.0], np.float32), np.dtype(np.float16), "t")
    assert (codes.type, codes.saturated, codes.underflow, codes.used) == ("float16", 0.25, 0.25, None)


def test_int8_saturates_loses_and_leaves_range_unused():
    scale, zero = np.array(1.0, np.float32), np.array(0, np.int8)
    codes = integer_codes(np.array([200.0, 0.2, 0.0, 100.0]), Quantisation(scale, zero), "t")
    assert (codes.type, codes.saturated, codes.underflow) == ("int8", 0.25, 0.25)
    assert codes.used == pytest.approx(127 / 255)


def test_int8_with_a_step_for_each_channel():
    scale, zero = np.array([1.0, 100.0], np.float32), np.array([0, 0], np.int8)
    assert integer_codes(np.array([[100.0, 1.0], [-100.0, 100.0]]), Quantisation(scale, zero), "t").underflow == 0.25


def test_steps_of_one_are_told_from_larger_ones():
    assert steps_apart(np.array([1, 2, 3, 4]), np.array([1, 3, 5, 4])) == (0.25, 0.25)


def test_neighbours_in_float16_are_one_apart_across_zero():
    tiny = np.float16(6e-8)
    order = float_order(np.array([-tiny, 0.0, tiny, 1.0, np.nextafter(np.float16(1), np.float16(2))]), np.float16)
    assert list(np.diff(order)) == [1, 1, order[3] - order[2], 1]


@pytest.mark.parametrize(("numbers", "scale", "zero"), [([-1.0, 4.1], 0.02, 50), ([1.0, 5.1], 0.02, 0), ([0.0], 1, 0)])
def test_the_steps_of_dynamic_quantisation_hold_0(numbers, scale, zero):
    steps = dynamic_steps(np.array(numbers))
    assert (float(steps.scale), int(steps.zero), steps.dtype) == (pytest.approx(scale), zero, np.uint8)


def test_the_most_extreme_channel_is_told_beside_the_median_and_masks_are_left_out():
    array = np.array([[1.0, -9.0, 2.0, 1e9], [3.0, 2.0, -4.0, np.inf]])
    assert peak_channel(array) == (1, 9.0, 3.5)


@pytest.mark.parametrize("shape", [(8,), (4, 3), (0, 8)])
def test_a_tensor_of_few_or_no_channels_has_no_extreme_one(shape):
    assert peak_channel(np.ones(shape)) is None
