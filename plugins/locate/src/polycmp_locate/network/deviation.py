"""How a constant of one file deviates from its counterpart in another, beyond the grids that both declare."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from polycmp.graph import Constant
from polycmp.judging import MASKING, MASKS
from polycmp.tensors import dtype_class

Floats = NDArray[np.float64]
_Rows: TypeAlias = "slice | EllipsisType"

#: Kinds of deviation.
ZERO, FACTOR, SHIFT, TRANSPOSED, REORDERED, FEW, VALUE, WHOLE = (
    "zero", "factor", "shift", "transposed", "reordered", "few", "value", "whole numbers",
)  # fmt: skip
STEP, EMPTIED, SCALED_SLICES, OTHER = "by a step", "below a step", "scaled by slices", "other numbers"
#: Those that no tool makes on purpose, where nothing around the constant was changed.
FAULTS = frozenset({ZERO, EMPTIED, FACTOR, SHIFT, TRANSPOSED, REORDERED, FEW, VALUE, WHOLE})

#: Magnitude up to which converters to float16 lift what would become 0 there: two of its smallest numbers.
LIFTED = 2.0**-23
#: Types to which files in float32 are rounded, to try what a backend would make of them.
_ROUNDED = (np.dtype(bfloat16), np.dtype(np.float16))
#: Slack for arithmetic in float32: constants that one file holds, and the other computes of several.
_FOLDED = 2.0**-20
#: Steps by which a number may be off that was rounded, multiplied by a factor that is known to a hundredth of a step,
#: and rounded again.
_ROUNDED_TWICE = 1.01
#: Correlation from which on numbers are at their places, so that they need not be sorted.
_IN_PLACE = 0.9
#: Share of a constant's numbers, or slices, up to which they are few; of codes, which learnt rounding moves, less.
_FEW, _FEW_CODES = 0.25, 2.0**-5
#: Least deviation of the factor of codes from 1: scales may be held in bfloat16. Of 8 bits it is a step anyway.
_FACTOR_OF_CODES = 2.0**-7
#: Share of the largest number up to which a slice holds nothing.
_NOTHING = 2.0**-10
#: Numbers that are compared at a time, and up to which the kind of a deviation is asked of a whole constant.
_BLOCK, _LARGE = 1 << 18, 1 << 24


@dataclass(frozen=True)
class Deviation:
    """Deviation of a constant from its counterpart.

    Attributes:
        kind: One of the kinds of this module.
        words: What the constant holds in place of what its counterpart does.
        rank: Number of the constant's dimensions.
        factor: How many times the counterpart the constant is; 0 where it is no multiple.
    """

    kind: str
    words: str
    rank: int = 0
    factor: float = 0.0


def are_alike(candidate: Constant, reference: Constant) -> bool:
    """Return whether two constants have one shape, and both hold real numbers or neither does.

    Args:
        candidate: One.
        reference: The other.
    """
    classes = {dtype_class(item.values.dtype) == "float" for item in (candidate, reference)}
    return len(classes) == 1 and _alike(candidate, reference) is not None


def deviation(candidate: Constant, reference: Constant) -> Deviation | None:
    """Return how a constant deviates from its counterpart; None where both grids explain it, or they are not alike.

    Args:
        candidate: The constant in the file to judge.
        reference: Its counterpart.
    """
    pair = _alike(candidate, reference)
    if pair is None:
        return None
    candidate, reference = pair
    if candidate.values.dtype == reference.values.dtype and np.array_equal(candidate.values, reference.values):
        return None
    real = [dtype_class(item.values.dtype) == "float" for item in pair]
    if not any(real):
        return _whole(candidate, reference)
    if not all(real):
        return None
    emptied = _emptied(candidate, reference)
    if emptied is not None:
        return emptied
    with np.errstate(all="ignore"):
        for one, two in _blocks(candidate, reference):
            if _Reals(one, two).is_off:
                whole = (one, two) if candidate.values.size > _LARGE else (candidate, reference)
                return None if _is_rounded(*whole) or _is_rounded(*whole[::-1]) else _Reals(*whole).deviation()
    return None


def same_grid(candidate: Constant, reference: Constant) -> bool:
    """Return whether two constants hold the same numbers, as far as their grids tell.

    Args:
        candidate: One.
        reference: The other.
    """
    return _alike(candidate, reference) is not None and deviation(candidate, reference) is None


def _alike(candidate: Constant, reference: Constant) -> tuple[Constant, Constant] | None:
    """Return two constants in one shape; None where they have no shape in common."""
    one, two = candidate.values, reference.values
    if one.shape == two.shape:
        return candidate, reference
    if one.size != two.size or [size for size in one.shape if size != 1] != [size for size in two.shape if size != 1]:
        return None
    return _shaped(candidate, two.shape), reference


def _shaped(constant: Constant, shape: tuple[int, ...]) -> Constant:
    def shaped(item: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(item, constant.values.shape).reshape(shape) if item.ndim else item

    clipped = None if constant.clipped is None else shaped(constant.clipped)
    return replace(constant, values=constant.values.reshape(shape), step=shaped(constant.step), clipped=clipped)


def _emptied(candidate: Constant, reference: Constant) -> Deviation | None:
    """Return that a constant, or a slice of it, holds only the code of 0, with a step beyond all that belongs there.

    A quantiser that is given zeros has no range to make a step of.
    """
    if not candidate.coded or not candidate.values.size:
        return None
    along = [axis for axis, size in enumerate(candidate.step.shape) if size > 1]
    sliced = (
        len(along) == 1 and candidate.step.ndim == candidate.values.ndim and candidate.values.size > candidate.step.size
    )
    rest = tuple(axis for axis in range(candidate.values.ndim) if axis not in along) if sliced else None
    reach = np.abs(reference.values.astype(np.float64)).max(axis=rest, keepdims=True)
    empty = ~candidate.values.any(axis=rest, keepdims=True)
    step = candidate.step if sliced else candidate.step.min()
    lost = empty & (step >= reach) & (reach > reach.max(initial=0.0) * _NOTHING)
    if not lost.any():
        return None
    words = f"only 0 in place of up to {np.max(reach, where=lost, initial=0.0):.4g}"
    where = f" in {np.count_nonzero(lost)} of {lost.size} slices" if lost.size > 1 else ""
    return Deviation(EMPTIED, words + where, rank=candidate.values.ndim)


def _blocks(candidate: Constant, reference: Constant) -> Iterator[tuple[Constant, Constant]]:
    """Yield two constants of one shape by as many slices along the first axis as fit the cache."""
    for rows in _places(candidate.values.shape):
        yield _rows(candidate, rows), _rows(reference, rows)


def _places(shape: tuple[int, ...]) -> Iterator[_Rows]:
    """Yield the places of as many slices along the first axis as fit the cache."""
    if not shape:
        yield ...
        return
    rows = max(1, _BLOCK // max(1, math.prod(shape[1:])))
    yield from (slice(start, start + rows) for start in range(0, shape[0], rows))


def _rows(constant: Constant, rows: _Rows) -> Constant:
    shape = constant.values.shape
    clipped = None if constant.clipped is None else _part(constant.clipped, shape, rows)
    return replace(constant, values=constant.values[rows], step=_part(constant.step, shape, rows), clipped=clipped)


def _part(item: NDArray[Any], shape: tuple[int, ...], rows: _Rows) -> NDArray[Any]:
    """Return the slices of what is broadcast to a shape."""
    return item[rows] if item.ndim == len(shape) and item.ndim and item.shape[0] > 1 else item


def _is_rounded(one: Constant, two: Constant) -> bool:
    """Return whether one constant holds the other's numbers rounded to a type that the file does not declare."""
    return any(
        all(np.array_equal(b.values.astype(kind).astype(a.values.dtype), a.values) for a, b in _blocks(one, two))
        for kind in _ROUNDED
    )


def _whole(candidate: Constant, reference: Constant) -> Deviation | None:
    """Return how whole numbers deviate, which no tool rounds; places may be counted from the end."""
    one, two = candidate.values, reference.values
    if np.array_equal(one, two) or (one.dtype != bool and (np.any(one < 0) != np.any(two < 0))):
        return None
    at = tuple(np.argwhere(one != two)[0])
    return Deviation(WHOLE, _instead(one, two, at, int(np.count_nonzero(one != two))), rank=one.ndim)


class _Reals:
    """The deviation of real numbers in the making.

    Args:
        candidate: The constant.
        reference: Its counterpart, in the same shape.
    """

    def __init__(self, candidate: Constant, reference: Constant) -> None:
        self.candidate, self.reference = candidate, reference
        self.one = candidate.values.astype(np.float64)
        self.two = reference.values.astype(np.float64)
        self.coded = candidate.coded or reference.coded
        self.excused = np.empty(self.one.shape, np.bool_)
        for rows in _places(self.one.shape):
            self.excused[rows] = self._excused(rows)

    @property
    def is_off(self) -> bool:
        """Whether any number is further off than both grids explain."""
        return self._is_off(self.two)

    def deviation(self) -> Deviation:
        """Return the deviation of a constant that is off."""
        off = self._off()
        kind, words = self._kind(off)
        factor = (self._factor() or 0.0) if kind == FACTOR else 0.0
        return Deviation(kind, words, self.one.ndim, factor)

    def _off(self) -> NDArray[np.bool_]:
        """Return which numbers are further from the reference's than both grids explain."""
        off = np.empty(self.one.shape, np.bool_)
        for rows in _places(self.one.shape):
            off[rows] = self._off_in(rows, self.two[rows], 0.5)
        return off

    def _is_off(self, expected: Floats, steps: float = 0.5) -> bool:
        """Return whether any number is off; most constants that are, are in their first slices."""
        return any(self._off_in(rows, expected[rows], steps).any() for rows in _places(self.one.shape))

    def _off_in(self, rows: _Rows, expected: Floats, steps: float) -> NDArray[np.bool_]:
        """Return which numbers of some slices are off."""
        one = self.one[rows]
        size = np.maximum(np.abs(one), np.abs(expected))
        bounds = [
            2 * steps * item.unit * size + steps * _part(item.step, self.one.shape, rows)
            for item in (self.candidate, self.reference)
        ]
        # Numbers of one grid are rounded once.
        bound = np.maximum(*bounds) if self._is_one_grid else bounds[0] + bounds[1]
        bound = bound * (1 + 2.0**-10) + _FOLDED * size
        return np.asarray(~(np.abs(one - expected) <= bound) & ~self.excused[rows] & (one != expected))

    @cached_property
    def _is_one_grid(self) -> bool:
        return self.candidate.kind == self.reference.kind and np.array_equal(self.candidate.step, self.reference.step)

    def _excused(self, rows: _Rows) -> NDArray[np.bool_]:
        """Return which numbers of some slices tools change on purpose, or that are no numbers on both sides."""
        one, two = np.abs(self.one[rows]), np.abs(self.two[rows])
        same_sign = np.sign(self.one[rows]) == np.sign(self.two[rows])
        excused = same_sign & (one >= MASKING) & (two >= MASKING)
        if excused.any():
            excused &= np.isin(one, MASKS) | np.isin(two, MASKS) | ((one > 65000) & (two > 65000) & (one / two > 4))
        excused |= np.isnan(one) & np.isnan(two)
        if "float16" in (self.candidate.kind, self.reference.kind):
            excused |= (one <= LIFTED) & (two <= LIFTED)
        for item, magnitude, counterpart in ((self.candidate, one, two), (self.reference, two, one)):
            if item.clipped is not None:
                excused |= _part(item.clipped, self.one.shape, rows) & same_sign & (magnitude < counterpart)
        return np.asarray(excused)

    def _kind(self, off: NDArray[np.bool_]) -> tuple[str, str]:
        """Return the kind of a deviation, and it in words."""
        if self.one.size == 1 and self._is_off(self.two, 1.0):
            return VALUE, f"{self.one.item():.6g} in place of {self.two.item():.6g}"
        if not self.one.any():
            return ZERO, f"only 0 in place of up to {np.abs(self.two).max():.4g}"
        if not self._is_off(self.two, 1.0):
            return STEP, f"off by up to a step in {_share(off)}"
        factor = self._factor()
        if factor is not None:
            return FACTOR, f"{factor:.{3 if self.coded else 4}g} times"
        if self._is_shifted():
            return SHIFT, f"{np.median(self.one - self.two):.4g} more everywhere"
        placed = self._placed()
        if placed is not None:
            return placed
        worst = np.unravel_index(int(np.argmax(np.where(off, np.abs(self.one - self.two), -1.0))), off.shape)
        words = _instead(self.one, self.two, worst, int(np.count_nonzero(off)))
        if self._are_few(off):
            return FEW, words
        if self._is_scaled_by_slices():
            return SCALED_SLICES, "its slices are multiplied by factors of their own"
        return OTHER, words

    def _factor(self) -> float | None:
        """Return the factor that makes one constant the other; None where there is none."""
        known = np.isfinite(self.one) & np.isfinite(self.two) & ~self.excused
        one, two = (np.where(known, item, 0.0).reshape(-1) for item in (self.one, self.two))
        norm = float(two @ two)
        if not norm:
            return None
        factor = float(one @ two) / norm
        if self.coded and abs(factor - 1) < _FACTOR_OF_CODES:
            return None
        return None if self._is_off(self.two * factor, _ROUNDED_TWICE) else factor

    def _is_shifted(self) -> bool:
        first = next(_places(self.one.shape))  # what all numbers are more by, some are
        gap = float(np.median(self.one[first] - self.two[first]))
        return math.isfinite(gap) and not self._is_off(self.two + gap)

    def _placed(self) -> tuple[str, str] | None:
        """Return the kind and words of numbers that are the other's at other places; None where they are not."""
        if self.two.ndim == 2 and self.two.shape[0] == self.two.shape[1] and not self._is_off(self.two.T):
            return TRANSPOSED, "transposed"
        if np.corrcoef(self.one.reshape(-1), self.two.reshape(-1))[0, 1] > _IN_PLACE:
            return None
        order = np.argsort(self.one, axis=None)
        expected = np.empty(self.one.size)
        expected[order] = np.sort(self.two, axis=None)
        distinct = len(np.unique(self.two)) > self.two.size // 2
        if distinct and not self._is_off(expected.reshape(self.one.shape)):
            return REORDERED, "the same numbers in another order"
        return None

    def _are_few(self, off: NDArray[np.bool_]) -> bool:
        """Return whether what deviates is few numbers, or lies in few slices."""
        limit = _FEW_CODES if self.coded else _FEW
        if off.mean() <= limit:
            return True
        slices = [off.any(axis=tuple(place for place in range(off.ndim) if place != axis)) for axis in range(off.ndim)]
        return off.ndim > 1 and any(item.mean() <= limit or item.sum() == 1 < item.size for item in slices)

    def _is_scaled_by_slices(self) -> bool:
        """Return whether each slice along an axis is the other's, multiplied by a factor."""
        if self.one.ndim < 2:
            return False
        for axis in range(self.one.ndim):
            rest = tuple(place for place in range(self.one.ndim) if place != axis)
            norm = np.square(self.two).sum(axis=rest, keepdims=True)
            factors = (self.one * self.two).sum(axis=rest, keepdims=True) / np.where(norm, norm, 1.0)
            if not self._is_off(self.two * factors, 1.0):
                return True
        return False


def _share(off: NDArray[np.bool_]) -> str:
    return f"{np.count_nonzero(off)} of {off.size} values"


def _instead(one: NDArray[Any], two: NDArray[Any], at: tuple[Any, ...], count: int) -> str:
    """Describe numbers that deviate by the worst of them."""
    where = ",".join(map(str, map(int, at)))
    values = f"{float(one[at]):.6g} in place of {float(two[at]):.6g}"
    return f"it differs in {count} of {one.size} values, the most at [{where}]: {values}" if one.ndim else values
