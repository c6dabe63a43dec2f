"""`ulp`: distances in representable numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.api.compare_functions import CompareFunc


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_neighbours_are_one_ulp_apart(dtype):
    smallest = np.array([ml_dtypes.finfo(dtype).smallest_subnormal], dtype)
    one = np.array([1], dtype)
    following = (one.astype(np.float64) + float(ml_dtypes.finfo(dtype).eps)).astype(dtype)
    for a, b, distance in [
        (following, one, 1),
        (-following, -one, 1),
        (smallest, -smallest, 2),
        (np.zeros(1, dtype), -np.zeros(1, dtype), 0),
    ]:
        assert CompareFunc.ulp()(a, b).metrics["max_ulp"] == distance
    verdict = CompareFunc.ulp(0)(following, one)
    assert not verdict
    assert "more than 0 ulp apart" in verdict.reason


def test_ulp_of_the_farthest_float64_does_not_overflow():
    largest = np.finfo(np.float64).max
    distance = CompareFunc.ulp()(np.array([largest]), np.array([-largest])).metrics["max_ulp"]
    assert distance == pytest.approx(2 * 0x7FEFFFFFFFFFFFFF)


def test_ulp_between_types_counts_in_the_coarser_one():
    b = np.array([1.0, 3.0], np.float32)
    assert CompareFunc.ulp(0)(b.astype(ml_dtypes.bfloat16), b + np.float32(1e-4))
    assert CompareFunc.ulp()(np.array([5]), np.array([3])).metrics["max_ulp"] == 2
