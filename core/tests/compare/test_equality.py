"""Tensors that are equal to the bit, found out in several threads."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.compare.blocks import BLOCK, Pair
from polycmp.compare.equality import scale_if_all_equal, scale_if_equal


@pytest.mark.parametrize(
    ("candidate", "reference", "scale"),
    [
        (np.float32([1, -3]), np.float32([1, -3]), 3.0),
        (np.int8([-128, 5]), np.int8([-128, 5]), 128.0),
        (np.array([True]), np.array([True]), 1.0),
        (np.float32([1, 2]), np.float32([1, 3]), None),
        (np.float32([1, 2]), np.float64([1, 2]), None),  # what another type rounds is looked at
        (np.float32([np.nan]), np.float32([np.nan]), None),
        (np.float32([np.inf]), np.float32([np.inf]), None),
        (np.float32([]), np.float32([]), None),
        (np.ones(2, ml_dtypes.bfloat16), np.ones(2, ml_dtypes.bfloat16), None),
        (np.ones(2, complex), np.ones(2, complex), None),
    ],
)
def test_finite_equal_numbers_have_a_scale(candidate, reference, scale):
    assert scale_if_equal(candidate, reference) == scale


@pytest.mark.parametrize("place", [None, 0, BLOCK + 1, -1])
def test_one_other_element_anywhere_is_seen(place):
    reference = np.zeros(9 * BLOCK, np.float32)
    reference[5 * BLOCK] = -7
    candidate = reference.copy()
    if place is not None:
        candidate[place] += 1
    assert scale_if_all_equal(Pair(candidate, reference)) == (7.0 if place is None else None)


def test_a_single_block_is_left_to_the_caller():
    array = np.ones(BLOCK, np.float32)
    assert scale_if_all_equal(Pair(array, array)) is None
