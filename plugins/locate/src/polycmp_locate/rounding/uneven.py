"""The error of a tensor that holds infinities, or values that only mask others, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.judging import beside_masks
from polycmp.tensors import is_floating
from polycmp_locate.rounding.difference import PIECE, relative_to
from polycmp_locate.rounding.figures import largest_of, row_gain
from polycmp_locate.rounding.kinds import ELEMENTWISE
from polycmp_locate.rounding.thresholds import AT_LIMIT, least_scale, worth_running


class Parts(NamedTuple):
    """The error of a tensor some of whose values only mask others.

    Attributes:
        relative: The largest error, each part's divided by the part's own scale.
        max_abs: The largest absolute error.
        is_saturated: Whether one side holds values beyond the range of the other's type.
    """

    relative: float
    max_abs: float
    is_saturated: bool


def parts_of(
    actual: NDArray[Any], expected: NDArray[Any], op_type: str, kind: str, unit: float, allowed: str = ""
) -> Parts:
    """Return the error of a tensor without what lies beyond the range, and large values apart from small ones.

    Elementwise operators treat each element for itself, so beside -1e9 of a mask the error of the others is held
    against the others, and masks of both sides may be as large as they like.

    Args:
        actual: The candidate's tensor.
        expected: The reference's, of the same shape.
        op_type: The type of the operator that makes it.
        kind: Element type and shape, as text.
        unit: Unit roundoff that it is judged by.
        allowed: The coarsest type that the two may calculate in.
    """
    if actual.dtype == expected.dtype and np.array_equal(actual, expected):
        return Parts(0.0, 0.0, is_saturated=False)
    a, b, border = actual.reshape(-1), expected.reshape(-1), _border(actual, expected, allowed)

    def pieces() -> Iterator[tuple[NDArray[Any], NDArray[Any], bool]]:
        return (_gaps_and_sizes(a[cut], b[cut], border, unit) for cut in cuts)

    cuts = [slice(at, at + PIECE) for at in range(0, a.size, PIECE)]
    largest, scale, saturated = 0.0, 0.0, False
    for gap, size, beyond in pieces():
        largest, scale = max(largest, float(gap.max())), max(scale, float(size.max()))
        saturated = saturated or beyond
    least = least_scale(op_type, kind)
    relative = relative_to(largest, max(scale, least))
    beside = beside_masks(a, b) if op_type in ELEMENTWISE else None
    if beside is not None:
        rest, below = 0.0, 0.0
        for cut, (gap, size, _) in zip(cuts, pieces(), strict=True):
            rest = max(rest, float(gap.max(initial=0.0, where=beside[cut])))
            below = max(below, float(size.max(initial=0.0, where=beside[cut])))
        largest, relative = rest, relative_to(rest, max(below, least))
    return Parts(relative, largest, saturated)


def gain_of(actual: NDArray[Any], expected: NDArray[Any], op_type: str) -> float:
    """Return by which share a whole row or tensor is off alike, beside what only masks others.

    Args:
        actual: The candidate's tensor.
        expected: The reference's, of the same shape.
        op_type: The type of the operator that makes it.
    """
    beside = beside_masks(actual, expected) if op_type in ELEMENTWISE else None
    return row_gain(actual if beside is None else np.where(beside, actual, expected), expected)


def _border(actual: NDArray[Any], expected: NDArray[Any], allowed: str) -> float:
    """Return the magnitude from which on values may lie beyond the range of a type; infinite where none do."""
    if not (is_floating(actual.dtype) and is_floating(expected.dtype)):
        return math.inf
    return AT_LIMIT * min(map(largest_of, (actual.dtype.name, expected.dtype.name, *([allowed] if allowed else []))))


def _gaps_and_sizes(
    actual: NDArray[Any], expected: NDArray[Any], border: float, unit: float
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Return the differences and magnitudes of a piece, 0 for what lies beyond the range, and whether any does."""
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        gap, size = np.abs(a - b), np.abs(b)
    if math.isfinite(float(gap.max())) and float(size.max()) < border:
        return gap, size, False
    gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    gap[np.isnan(gap)] = np.inf
    beyond = np.zeros(a.shape, np.bool_)
    if math.isfinite(border):
        beyond = (gap > 0) & (np.abs(a) >= border) & (size >= border) & (np.sign(a) == np.sign(b))
        beyond &= gap > worth_running(unit) * np.where(np.isfinite(size), size, 0.0)
    gap[beyond] = 0.0
    size[~np.isfinite(size) | beyond] = 0.0
    return gap, size, bool(beyond.any())
