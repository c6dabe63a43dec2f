"""The error of tensors with infinities and masks, in pieces."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from polycmp_locate.rounding.difference import PIECE
from polycmp_locate.rounding.uneven import parts_of


def known(op_type="Add"):
    """Return what is known of a tensor in float32 besides its values."""
    return op_type, "float32", 2.0**-24


@pytest.mark.parametrize("at", [0, PIECE - 1, PIECE, 2 * PIECE])
def test_the_same_is_found_wherever_it_lies(at):
    other = np.ones(2 * PIECE + 1, np.float32)
    own = other.copy()
    own[at] = 1.5
    assert parts_of(own, other, *known()) == (0.5, 0.5, False)
    own[at], other[at] = np.inf, 3.4e38
    assert parts_of(own, other, *known()) == (0.0, 0.0, True)
    own[at], other[at] = np.nan, np.nan
    assert parts_of(own, other, *known()) == (0.0, 0.0, False)


def test_beside_a_mask_errors_are_held_against_what_is_not_masked():
    other = np.ones(2 * PIECE, np.float32)
    other[0] = -1e9
    own = other.copy()
    own[-1] = 1.25
    assert parts_of(own, other, *known()).relative == 0.25
    assert parts_of(own, other, *known("MatMul")).relative < 1e-9


@pytest.mark.parametrize("moved", [0.0, 0.5])
def test_a_large_tensor_takes_no_copies_of_it(moved):
    other = np.ones(1 << 22, np.float32)
    own = other + np.float32(moved)
    tracemalloc.start()
    try:
        parts_of(own, other, *known())
        assert tracemalloc.get_traced_memory()[1] < other.nbytes // 2
    finally:
        tracemalloc.stop()


def test_steps_of_a_scale_have_no_largest_number():
    """A backend that may calculate in 8 bits saturates where its scale says, not where its type ends."""
    other = np.array([1e30, 2e30], np.float32)
    own = np.array([1e30, 3e30], np.float32)
    assert parts_of(own, other, *known(), "int8").relative == pytest.approx(0.5)
