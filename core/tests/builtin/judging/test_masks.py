"""Numbers that only mask others, as attention adds them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.judging.masks import MASKS, beside_masks

SCORES = np.array([0.5, -2.0, 3.0, 1.0], np.float32)


def masked(value, dtype=np.float32, rest=SCORES):
    made = rest.astype(dtype)
    with np.errstate(over="ignore"):
        made[1] = value
    return made


@pytest.mark.parametrize("other", [-math.inf, -1e4, float(np.finfo(np.float32).min), -65504.0])
def test_one_side_may_mask_otherwise_than_the_other(other):
    assert beside_masks(masked(other), masked(-math.inf)).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        (masked(-1e4), SCORES),  # on one side alone it is a difference
        (masked(-1e3), masked(-1e3)),
        (masked(1e4), masked(1e4)),  # nothing is masked by what is large
        (masked(-1e4, rest=100 * SCORES), masked(-1e4, rest=100 * SCORES)),  # beside numbers of nearly its size
        (masked(-math.inf, rest=np.full(4, -math.inf)), masked(-math.inf, rest=np.full(4, -math.inf))),
        (np.array([-20000, 1]), np.array([-20000, 1])),
        (np.zeros(0), np.zeros(0)),
    ],
)
def test_other_numbers_mask_nothing(candidate, reference):
    assert beside_masks(candidate, reference) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_beside_zeros_alone_only_what_tools_write_is_a_mask(dtype):
    zeros = np.zeros(4)
    for written in MASKS:
        mask = masked(-written, dtype, zeros)
        assert beside_masks(mask, mask).tolist() == [True, False, True, True]
    other = masked(-12345.0, dtype, zeros)
    assert beside_masks(other, other) is None
