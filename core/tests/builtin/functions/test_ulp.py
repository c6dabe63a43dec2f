"""`ulp`: distances in representable numbers."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.api.compare_functions import CompareFunc

INF = math.inf


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


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_ulp_of_big_endian_numbers(dtype):
    a, b = np.array([0.25], f">{dtype}"), np.array([1.0], f">{dtype}")
    assert not CompareFunc.ulp()(a, b)
    assert CompareFunc.ulp(0)(b, b.astype(dtype)).passed


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_no_number_is_a_neighbour_of_infinity(dtype):
    infinite = np.array([INF], dtype)
    largest = np.array([float(ml_dtypes.finfo(dtype).max)], dtype)
    for a, b in ((infinite, largest), (largest, infinite), (infinite, -infinite)):
        assert not CompareFunc.ulp(10**9)(a, b)
    assert CompareFunc.ulp(0)(infinite, infinite)


@pytest.mark.parametrize("narrow", ["f2", ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn])
def test_a_number_that_the_shorter_type_cannot_hold(narrow):
    largest = np.array([float(ml_dtypes.finfo(narrow).max)]).astype(narrow)
    with np.errstate(all="ignore"):
        infinite = np.array([INF]).astype(narrow)
    wide = np.array([1e30], np.float32)
    for a, b in ((infinite, wide), (wide, infinite), (largest, wide), (wide, largest)):
        assert not CompareFunc.ulp(10**9)(a, b)


@pytest.mark.parametrize(
    "dtype", [getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith(("float", "bfloat"))]
)
def test_ulp_of_every_low_bit_type(dtype):
    b = np.array([1.0, 2.0], np.float32).astype(dtype)
    assert CompareFunc.ulp(0)(b, b)
    verdict = CompareFunc.ulp(0)(b[::-1], b)
    assert not verdict
    assert verdict.metrics["max_ulp"] == 2 ** ml_dtypes.finfo(dtype).nmant
