"""`l2`, `cosine_similarity`, `psnr` and `snr` against plain computations, and what all functions refuse."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from in_parts import each_once

from polycmp.builtin.api.compare_functions import CompareFunc

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("size", "dtype"),
    each_once([3, 1000, 1_200_000], [np.float32, np.float64, np.int32, ml_dtypes.bfloat16, np.complex64]),
)
def test_norms_are_those_of_numpy(size, dtype):
    rng = np.random.default_rng(0)
    b = (rng.standard_normal(size) * 100).astype(dtype)
    a = (b + (rng.standard_normal(size) * 3).astype(dtype)).astype(dtype)
    kind = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    left, right = a.astype(kind), b.astype(kind)
    mse, signal = np.mean(np.abs(left - right) ** 2), np.mean(np.abs(right) ** 2)
    expected = {
        "l2": np.linalg.norm(left - right),
        "snr": 10 * np.log10(signal / mse),
        "cosine_similarity": np.vdot(left, right).real / np.linalg.norm(left) / np.linalg.norm(right),
    }
    if kind is np.float64:
        expected["psnr"] = 20 * np.log10(np.abs(right).max()) - 10 * np.log10(mse)
    for name, value in expected.items():
        assert getattr(CompareFunc, name)()(a, b).metrics[name] == pytest.approx(value, rel=1e-12)


def test_thresholds_decide():
    b = np.array([3.0, 4.0])
    a = b + np.array([0.0, 0.5])
    assert CompareFunc.l2(0.5)(a, b)
    assert not CompareFunc.l2(0.4999)(a, b)
    assert CompareFunc.snr({"y": 10, "": 90})(a, b, output="y")
    verdict = CompareFunc.snr({"y": 10, "": 90})(a, b, output="z")
    assert not verdict
    assert "snr is 20 dB (at least 90 dB allowed)" in verdict.reason
    assert CompareFunc.psnr(18)(a, b).metrics["psnr"] == pytest.approx(20 * math.log10(4) - 10 * math.log10(0.125))


@pytest.mark.parametrize("function", ["l2", "cosine_similarity", "psnr", "snr", "ulp"])
def test_a_failure_names_the_worst_element(function):
    b = np.ones((2, 3), np.float32)
    a = b.copy()
    a[0, 1], a[1, 2] = 1.5, -4
    verdict = getattr(CompareFunc, function)()(a, b)
    assert "[1,2]: -4 instead of 1" in verdict.reason
    assert (verdict.stats.worst.index, verdict.stats.failed, verdict.stats.max_abs) == ((1, 2), 2, 5)


def test_squares_that_would_overflow_or_vanish_do_not():
    for scale in (1e300, 1e-300, 5e-324):
        b = np.array([1.0, 2.0]) * scale
        orthogonal = np.array([-2.0, 1.0]) * scale
        assert CompareFunc.cosine_similarity()(b, b).metrics["cosine_similarity"] == pytest.approx(1)
        assert CompareFunc.cosine_similarity()(orthogonal, b).metrics["cosine_similarity"] == pytest.approx(
            0, abs=1e-15
        )
        assert CompareFunc.snr()(2 * b, b).metrics["snr"] == pytest.approx(0, abs=1e-9)
        assert CompareFunc.l2()(2 * b, b).metrics["l2"] == pytest.approx(math.hypot(1 * scale, 2 * scale), abs=5e-324)
    a = np.array([1e20, 1e-20], np.float32)
    b = np.array([1e-20, 1e20], np.float32)
    assert not CompareFunc.cosine_similarity()(a, b)


def test_one_huge_and_one_tiny_side():
    a, b = np.array([1e300, 1.0]), np.array([1e-300, 0.0])
    assert CompareFunc.cosine_similarity()(a, b).metrics["cosine_similarity"] == pytest.approx(1)


@pytest.mark.parametrize("function", ["l2", "cosine_similarity", "psnr", "snr", "ulp"])
def test_nan_fails_everywhere(function):
    b = np.arange(600_000, dtype=np.float32)
    a = b.copy()
    a[-1] = NAN
    compare = getattr(CompareFunc, function)()
    assert compare(b, b)
    for left, right in ((a, b), (b, a), (a, a)):
        verdict = compare(left, right)
        assert not verdict
        assert "NaN" in verdict.reason


def test_complex_scalars_and_mixed_types_count_as_pairs_of_real_numbers():
    assert CompareFunc.l2()(np.array(3 + 4j), np.array(0j)).metrics["l2"] == 5
    assert CompareFunc.l2()(np.array([3 + 4j]), np.array([3.0])).metrics["l2"] == 4


def test_zero_vectors():
    zero, one = np.zeros(3), np.ones(3)
    cosine = CompareFunc.cosine_similarity()
    assert cosine(zero, zero).metrics["cosine_similarity"] == 1
    assert cosine(one, zero).metrics["cosine_similarity"] == 0
    assert CompareFunc.snr()(zero, zero)
    assert CompareFunc.snr()(one, zero).metrics["snr"] == -INF
    assert CompareFunc.psnr()(one, zero).metrics["psnr"] == -INF


@pytest.mark.parametrize("function", ["l2", "cosine_similarity", "psnr", "snr", "ulp", "indices"])
def test_another_shape_fails_and_nothing_passes(function):
    compare = getattr(CompareFunc, function)()
    assert "shape" in compare(np.ones((2, 3)), np.ones((3, 2))).reason
    assert compare(np.ones((0, 3), np.float32), np.ones((0, 3), np.float32))


@pytest.mark.parametrize("function", ["l2", "cosine_similarity", "psnr", "snr"])
def test_norms_of_the_largest_numbers(function):
    largest = np.array([np.finfo(np.float64).max] * 2)
    compare = getattr(CompareFunc, function)()
    assert compare(largest, largest)
    assert not compare(-largest, largest)
    if function == "snr":
        assert compare(-largest, largest).metrics["snr"] == pytest.approx(-20 * math.log10(2))
