"""Exact differences of two blocks of any element type, as float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import dtype_class

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Gives the absolute differences of a block and the magnitudes of its reference.
Difference = Callable[[Array, Array], "tuple[Floats, Floats]"]


def _floats() -> Difference:
    left = right = np.empty(0)

    def difference(candidate: Array, reference: Array) -> tuple[Floats, Floats]:
        nonlocal left, right
        count = candidate.size
        if left.size < count:  # the first block is the largest
            left, right = np.empty(count), np.empty(count)
        a, b = left[:count], right[:count]
        np.copyto(a.reshape(candidate.shape), candidate, casting="unsafe")
        np.copyto(b.reshape(candidate.shape), reference, casting="unsafe")
        np.subtract(a, b, out=a)
        return np.absolute(a, out=a), np.absolute(b, out=b)

    return difference


def _wide_integers() -> Difference:
    """Return a difference of 64-bit integers that is computed without sign, so that it cannot overflow."""

    def difference(candidate: Array, reference: Array) -> tuple[Floats, Floats]:
        a_low, a_neg = _sign_magnitude(candidate.reshape(-1))
        b_low, b_neg = _sign_magnitude(reference.reshape(-1))
        same = a_neg == b_neg
        apart = np.where(a_low > b_low, a_low - b_low, b_low - a_low)
        summed = a_low + b_low
        errors = np.where(same, apart, summed).astype(np.float64)
        errors[~same & (summed < a_low)] += 2.0**64
        return errors, b_low.astype(np.float64)

    return difference


def _sign_magnitude(values: Array) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    if values.dtype.kind in {"u", "b"}:
        return values.astype(np.uint64), np.zeros(values.shape, bool)
    wide = values.astype(np.int64)
    negative, bits = wide < 0, wide.view(np.uint64)
    # Two's complement: the magnitude of a negative number is its complement plus one, also for the smallest one.
    return np.where(negative, ~bits + np.uint64(1), bits), negative


def _complex() -> Difference:
    def difference(candidate: Array, reference: Array) -> tuple[Floats, Floats]:
        a = candidate.reshape(-1).astype(np.complex128)
        b = reference.reshape(-1).astype(np.complex128)
        return np.absolute(a - b), np.absolute(b)

    return difference


def _extended() -> Difference:
    """Return a difference of numbers that float64 does not hold; no difference becomes 0, no magnitude infinite."""
    largest, smallest = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal

    def difference(candidate: Array, reference: Array) -> tuple[Floats, Floats]:
        wide = np.result_type(candidate.dtype, reference.dtype, np.longdouble)
        a, b = candidate.reshape(-1).astype(wide), reference.reshape(-1).astype(wide)
        exact, size = np.absolute(a - b), np.absolute(b)
        errors, magnitudes = exact.astype(np.float64), size.astype(np.float64)
        errors[(exact > 0) & (errors == 0)] = smallest
        magnitudes[np.isfinite(size) & np.isinf(magnitudes)] = largest
        return errors, magnitudes

    return difference


def is_extended(dtype: np.dtype[Any]) -> bool:
    """Return whether a type of real or complex numbers is longer than float64."""
    return dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16)


def difference_of(candidate: np.dtype[Any], reference: np.dtype[Any]) -> Callable[[], Difference]:
    """Return a factory of difference functions for a pair of element types; each owns the buffers of one thread.

    float64 holds every number of all other real types, low-bit ones included, but for 64-bit integers: those are
    subtracted as unsigned numbers before they are rounded to float64. NumPy's `longdouble` is subtracted as it is.
    """
    if is_extended(candidate) or is_extended(reference):
        return _extended
    if "complex" in {dtype_class(candidate), dtype_class(reference)}:
        return _complex
    pair = (candidate, reference)
    if all(dtype_class(dtype) in {"integer", "bool"} for dtype in pair) and any(dtype.itemsize == 8 for dtype in pair):
        return _wide_integers
    return _floats
