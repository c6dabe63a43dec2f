"""Descriptions of known relations between two arrays, as slips in a stage cause them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from polycmp_pipeline.values import Array

#: Arrays of more dimensions are not tried in every order of their axes.
_MOST_AXES = 5
#: Sizes of an axis that may be one of channels.
_CHANNELS = (3, 4)
#: The share of what values span that a scale and an offset may leave unexplained (choice: rounding of colours is less).
_UNEXPLAINED_SHARE = 2e-3
#: The share of the largest number that rounding may move others by (choice: a hundred roundings of float32).
_ROUNDING_SHARE = 1e-5
#: Of larger arrays so many numbers are looked at for a scale and an offset (choice).
_MAX_NUMBERS = 100_000
#: Fewer numbers than this follow from any others by a scale and an offset.
_MIN_NUMBERS = 8


def relation(candidate: Array, reference: Array) -> str:
    """Describe how an array follows from the expected one; empty if no known relation explains it.

    Args:
        candidate: The array.
        reference: The one that was expected.
    """
    if {candidate.dtype.kind, reference.dtype.kind} & set("OUSc") or not candidate.size or not reference.size:
        return ""
    return next((words for words in _relations(candidate, reference) if words), "")


def _relations(candidate: Array, reference: Array) -> Iterator[str]:
    if candidate.ndim == reference.ndim:
        yield _transposed(candidate, reference)
        yield _one_more_or_less(candidate, reference)
    if candidate.shape == reference.shape and not _is_flat(reference):
        yield _reversed(candidate, reference)
        yield _shifted(candidate, reference)
        yield _by_one(candidate, reference)
        yield _scaled(candidate, reference)


def _alike(one: Array, two: Array) -> bool:
    """Return whether two arrays are equal, real numbers up to rounding."""
    if one.shape != two.shape or {one.dtype.kind, two.dtype.kind} <= set("iub"):
        return np.array_equal(one, two)
    off = np.abs(one.astype(np.float64) - two.astype(np.float64))
    return bool(off.max(initial=0.0) <= _ROUNDING_SHARE * np.abs(two.astype(np.float64)).max(initial=0.0))


def _is_flat(array: Array) -> bool:
    return bool((array == array.flat[0]).all())


def _transposed(candidate: Array, reference: Array) -> str:
    axes = range(reference.ndim)
    if not 2 <= reference.ndim <= _MOST_AXES or _is_flat(reference):
        return ""
    for order in permutations(axes):
        if order != tuple(axes) and _alike(candidate, reference.transpose(order)):
            return f"its axes are in the order {list(order)}"
    return ""


def _one_more_or_less(candidate: Array, reference: Array) -> str:
    """Describe at which end an array is one longer or shorter along an axis."""
    off = [axis for axis in range(reference.ndim) if candidate.shape[axis] != reference.shape[axis]]
    if len(off) != 1 or abs(candidate.shape[off[0]] - reference.shape[off[0]]) != 1:
        return ""
    (axis,) = off
    longer, shorter = sorted((candidate, reference), key=lambda array: -array.shape[axis])
    verb = "more" if longer is candidate else "less"
    for end, part in (("end", slice(None, -1)), ("beginning", slice(1, None))):
        index = tuple(part if other == axis else slice(None) for other in range(reference.ndim))
        if _alike(longer[index], shorter):
            return f"it has one {verb} at the {end} of axis {axis}"
    return f"it has one {verb} along axis {axis}"


def _reversed(candidate: Array, reference: Array) -> str:
    for axis in range(reference.ndim):
        if reference.shape[axis] > 1 and _alike(candidate, np.flip(reference, axis)):
            channels = ", as BGR is for RGB" if reference.shape[axis] in _CHANNELS else ""
            return f"axis {axis} is reversed{channels}"
    return ""


def _shifted(candidate: Array, reference: Array) -> str:
    for axis in range(reference.ndim):
        if reference.shape[axis] < 3:
            continue
        first, last = (
            tuple(part if other == axis else slice(None) for other in range(reference.ndim))
            for part in (slice(1, None), slice(None, -1))
        )
        for ours, theirs, way in ((first, last, "forwards"), (last, first, "backwards")):
            if _alike(candidate[ours], reference[theirs]) and not _is_flat(reference[theirs]):
                return f"it is shifted by one {way} along axis {axis}"
    return ""


def _by_one(candidate: Array, reference: Array) -> str:
    if not all(array.dtype.kind in "iu" for array in (candidate, reference)):
        return ""
    off = candidate.astype(np.int64) - reference.astype(np.int64)
    if np.abs(off).max() > 1:
        return ""
    ways = {1: "one too large", -1: "one too small"}
    return f"it is {ways[int(off.flat[np.abs(off).argmax()])] if len(np.unique(off[off != 0])) == 1 else 'off by one'}"


def _scaled(candidate: Array, reference: Array) -> str:
    """Describe the scale and offset by which numbers follow from others, of all or of each channel."""
    words = _line(candidate, reference)
    if words:
        return f"it is the reference {words}"
    for axis in range(reference.ndim):
        if reference.shape[axis] in _CHANNELS and reference.size >= _MIN_NUMBERS * reference.shape[axis]:
            pairs = zip(np.moveaxis(candidate, axis, 0), np.moveaxis(reference, axis, 0), strict=True)
            each = [_line(one, two) or ("as it is" if _alike(one, two) else "") for one, two in pairs]
            if all(each):
                return f"by axis {axis} it is the reference {'; '.join(each)}"
    return ""


def _line(candidate: Array, reference: Array) -> str:
    step = max(1, candidate.size // _MAX_NUMBERS)
    one, two = (array.ravel()[::step].astype(np.float64) for array in (candidate, reference))
    span = float(np.ptp(one)) if np.isfinite(one).all() and np.isfinite(two).all() else 0.0
    if one.size < _MIN_NUMBERS or not span or not np.ptp(two):
        return ""
    slope, offset = np.polyfit(two, one, 1)
    if float(np.abs(slope * two + offset - one).max()) > _UNEXPLAINED_SHARE * span:
        return ""
    plus = f" {'+' if offset > 0 else '-'} {abs(offset):.3g}" if abs(offset) > _UNEXPLAINED_SHARE * span else ""
    times = f"× {slope:.3g}" if abs(slope - 1) > _UNEXPLAINED_SHARE else ""
    return f"{times}{plus}".strip()
