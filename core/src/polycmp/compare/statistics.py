"""Error statistics of a pair of tensors, in one pass over blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blocks import Pair, for_each_block
from polycmp.compare.difference import Difference, difference_of

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """What makes an element fail.

    Attributes:
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        equal_nan: Whether NaN equals NaN.
        equal_inf: Whether infinities of one sign are equal.
    """

    atol: float
    rtol: float
    equal_nan: bool = False
    equal_inf: bool = False


@dataclass
class Sums:
    """Figures gathered so far; those of several threads are added up with `merge`."""

    finite: int = 0
    failed: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    sum_abs: float = 0.0
    sum_rel: float = 0.0
    nan_candidate: int = 0
    nan_reference: int = 0
    nan_failed: int = 0
    excess: float = -1.0
    worst: int = -1
    largest: float = -1.0
    largest_at: int = -1

    def merge(self, other: Sums) -> None:
        """Add another thread's figures."""
        for name in ("finite", "failed", "sum_abs", "sum_rel", "nan_candidate", "nan_reference", "nan_failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.max_abs = max(self.max_abs, other.max_abs)
        self.max_rel = max(self.max_rel, other.max_rel)
        # Threads finish in any order; the earlier of two equal elements makes the answer always the same.
        self.excess, self.worst = _first_largest((self.excess, self.worst), (other.excess, other.worst))
        self.largest, self.largest_at = _first_largest(
            (self.largest, self.largest_at), (other.largest, other.largest_at)
        )


def _first_largest(one: tuple[float, int], two: tuple[float, int]) -> tuple[float, int]:
    return max(one, two, key=lambda item: (item[0], -item[1]))


class _Worker:
    """The pass of one thread."""

    def __init__(self, difference: Difference, limits: Limits) -> None:
        self.difference = difference
        self.limits = limits
        self.sums = Sums()

    def __call__(self, candidate: Array, reference: Array, offset: int) -> None:
        sums = self.sums
        errors, magnitudes = self.difference(candidate, reference)
        largest = float(errors.max())
        if not np.isfinite(largest):
            self._irregular(candidate.reshape(-1), reference.reshape(-1), errors, magnitudes, offset)
            return
        relative = np.divide(errors, magnitudes, out=magnitudes)
        largest_rel = float(relative.max())
        if math.isnan(largest_rel):  # 0/0: equal elements
            np.copyto(relative, 0.0, where=np.isnan(relative))
            largest_rel = float(relative.max())
        sums.finite += errors.size
        sums.sum_abs += float(errors.sum())
        sums.sum_rel += float(relative.sum())
        self._judge(errors, relative, largest, largest_rel, offset)

    def _judge(self, errors: Floats, relative: Floats, largest: float, largest_rel: float, offset: int) -> None:
        sums, limits = self.sums, self.limits
        sums.max_rel = max(sums.max_rel, largest_rel)
        sums.max_abs = max(sums.max_abs, largest)
        if largest > sums.largest:
            sums.largest, sums.largest_at = largest, offset + int(errors.argmax())
        if largest <= limits.atol or largest_rel <= limits.rtol:
            return
        failed = errors > limits.atol
        failed &= relative > limits.rtol
        count = int(np.count_nonzero(failed))
        if count:
            sums.failed += count
            excess = _excess(errors, relative, limits)
            np.copyto(excess, -1.0, where=~failed)
            at = int(excess.argmax())
            candidate = (float(excess[at]), offset + at)
            sums.excess, sums.worst = _first_largest((sums.excess, sums.worst), candidate)

    def _irregular(self, candidate: Array, reference: Array, errors: Floats, magnitudes: Floats, offset: int) -> None:
        """Take in a block that holds NaN or infinity, or differences beyond the largest float64."""
        sums, limits = self.sums, self.limits
        nan_candidate, nan_reference = np.isnan(candidate), np.isnan(reference)
        sums.nan_candidate += int(np.count_nonzero(nan_candidate))
        sums.nan_reference += int(np.count_nonzero(nan_reference))
        either = nan_candidate | nan_reference
        forgiven = nan_candidate & nan_reference if limits.equal_nan else np.zeros_like(either)
        same_infinity = np.isinf(candidate) & (candidate == reference)
        errors[same_infinity] = 0.0 if limits.equal_inf else np.inf
        errors[either] = 0.0
        magnitudes[either] = 1.0
        relative = np.divide(errors, magnitudes)
        undefined = np.isnan(relative)
        relative[undefined] = np.where(errors[undefined] == 0.0, 0.0, np.inf)
        kept = ~either
        sums.finite += int(np.count_nonzero(kept))
        sums.sum_abs += float(errors.sum())
        sums.sum_rel += float(relative.sum())
        lost = either & ~forgiven
        sums.nan_failed += int(np.count_nonzero(lost))
        if lost.any():
            sums.failed += int(np.count_nonzero(lost))
            sums.excess, sums.worst = _first_largest((sums.excess, sums.worst), (np.inf, offset + int(lost.argmax())))
        self._judge(errors, relative, float(errors.max()), float(relative.max()), offset)


def _excess(errors: Floats, relative: Floats, limits: Limits) -> Floats:
    """Return by which factor both tolerances would have to grow for each element to pass."""
    return np.fmin(errors / limits.atol, relative / limits.rtol)


def gather(pair: Pair, limits: Limits) -> Sums:
    """Return the figures of all elements."""
    workers: list[_Worker] = []
    make = difference_of(pair.original[0].dtype, pair.original[1].dtype)

    def worker() -> _Worker:
        workers.append(_Worker(make(), limits))
        return workers[-1]

    for_each_block(pair, worker)
    total = workers[0].sums if workers else Sums()
    for other in workers[1:]:
        total.merge(other.sums)
    return total
