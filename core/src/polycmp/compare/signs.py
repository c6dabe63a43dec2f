"""Vectors of length 1 that agree but for their sign, as those of a decomposition may."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.statistics import count_beyond
from polycmp.sentences import signs_differ
from polycmp.tensors import dtype_class

Array = NDArray[Any]
#: By how much, relative, the length of a vector that was brought to length 1 may differ from it: many roundings to
#: bfloat16, and far less than the lengths of vectors that were not vary by.
_LENGTH = 0.02


def describe_signs(candidate: Array, reference: Array, atol: float) -> str:
    """Return in words that two tensors agree but for the sign of vectors of length 1; empty where they do not.

    Args:
        candidate: A tensor that differs.
        reference: The one to believe, of the same shape.
        atol: By how much elements may differ.
    """
    if reference.ndim < 2 or {dtype_class(candidate.dtype), dtype_class(reference.dtype)} != {"float"}:
        return ""
    for axis in (reference.ndim - 2, reference.ndim - 1):  # columns first: NumPy and its like have vectors there
        if reference.shape[axis] < 2 or not _are_unit_vectors(reference, axis):
            continue
        turned = _products(candidate, reference, axis) < 0.0
        if turned.any() and not count_beyond(np.where(turned, -candidate, candidate), reference, atol):
            return signs_differ(int(turned.sum()), turned.size, axis)
    return ""


def _are_unit_vectors(array: Array, axis: int) -> bool:
    """Return whether all vectors along an axis have the length 1; the first one tells of most tensors that not."""
    first = array[tuple(slice(None) if at == axis else slice(1) for at in range(array.ndim))]
    return all(
        bool((np.abs(np.sqrt(_products(part, part, axis)) - 1.0) <= _LENGTH).all())
        for part in (first, array)
        if part.size
    )


def _products(one: Array, two: Array, axis: int) -> NDArray[np.float64]:
    """Return the product of two vectors for each place along an axis, with no array of the tensors' size between."""
    moved = (np.moveaxis(array, axis, -1) for array in (one, two))
    with np.errstate(all="ignore"):
        return np.expand_dims(np.einsum("...i,...i->...", *moved, dtype=np.float64, casting="unsafe"), axis)
