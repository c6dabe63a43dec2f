"""`indices` against looking each one up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polycmp.builtin.api.compare_functions import CompareFunc


def plain_indices(a, b, tolerance):
    """Count the indices that moved too far, one after another."""
    moved = 0
    for left, right in zip(a.reshape(-1, a.shape[-1]).tolist(), b.reshape(-1, a.shape[-1]).tolist(), strict=True):
        for place, value in enumerate(left[: len(left) - tolerance]):
            if right[place] == value:
                continue
            if value not in right or abs(right.index(value) - place) > tolerance:
                moved += 1
    return moved


@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(0, 6))
def test_indices_agree_with_looking_them_up_one_by_one(data, tolerance):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    a = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 5)))
    b = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 5)))
    checked = tolerance < shape[-1]
    expected = plain_indices(a, b, tolerance) if checked else 0
    verdict = CompareFunc.indices(tolerance)(a, b)
    assert verdict.metrics["moved"] == expected
    assert verdict.passed == (checked and expected == 0)


def test_indices_say_what_moved_and_when_nothing_was_checked():
    b = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    a = np.array([[1, 2, 3, 4], [6, 5, 9, 8]])
    assert (
        "3 of 8 indices moved by more than 0, the first at [1,0]: 6 instead of 5" in CompareFunc.indices()(a, b).reason
    )
    covered = CompareFunc.indices(4)(a, a)
    assert not covered
    assert "covers the whole list of 4, so nothing was checked" in covered.reason


def test_a_tolerance_that_covers_the_list_checks_nothing():
    verdict = CompareFunc.indices(1)(np.array([[3], [4]]), np.array([[5], [4]]))
    assert not verdict.passed
    assert "nothing was checked" in verdict.reason


@pytest.mark.parametrize("tolerance", [0, 1])
def test_indices_of_wide_integers_lose_no_digit(tolerance):
    a, b = np.array([2**63 + 1, 1, 2], np.uint64), np.array([2**62, 1, 2], np.int64)
    assert not CompareFunc.indices(tolerance)(a, b)
    assert not CompareFunc.indices(tolerance)(np.array([2**53 + 1, 1, 2]), np.array([2**53, 1, 2], np.uint64))


def test_nan_is_no_index_that_moved():
    a = np.array([math.nan, 1.0, 2.0])
    assert not CompareFunc.indices(1)(a, a)
