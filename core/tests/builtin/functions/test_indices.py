"""`indices` against looking each one up."""

from __future__ import annotations

import numpy as np
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
