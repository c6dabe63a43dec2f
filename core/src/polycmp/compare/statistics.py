"""Error statistics of a pair of tensors, in one pass over blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blocks import Pair, for_each_block, wide
from polycmp.compare.difference import Difference, difference_of
from polycmp.compare.equality import scale_if_all_equal, scale_if_equal
from polycmp.compare.order import BitCounts
from polycmp.compare.verdicts import ErrorStats, Worst
from polycmp.compare.words import as_scalar
from polycmp.tensors import dtype_class, is_low_bit

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Tolerances of an element, and the rules for NaN and infinity.

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


_ADDED = (
    *("counted", "failed", "sum_abs", "sum_rel"),
    *("nan_candidate", "nan_reference", "nan_failed", "nan_mismatched", "inf_matched", "inf_failed"),
)


@dataclass
class Sums:
    """Figures gathered so far; those of several threads are added up with `merge`."""

    counted: int = 0
    failed: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    scale: float = 0.0
    sum_abs: float = 0.0
    sum_rel: float = 0.0
    nan_candidate: int = 0
    nan_reference: int = 0
    nan_failed: int = 0
    nan_mismatched: int = 0
    inf_matched: int = 0
    inf_failed: int = 0
    excess: float = -1.0
    worst: int = -1
    largest_at: int = -1
    counts: tuple[BitCounts, BitCounts] | None = None

    def merge(self, other: Sums) -> None:
        """Add another thread's figures."""
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.max_rel = max(self.max_rel, other.max_rel)
        self.scale = max(self.scale, other.scale)
        # Threads finish in any order; the earlier of two equal elements makes the answer always the same.
        self.excess, self.worst = _first_largest((self.excess, self.worst), (other.excess, other.worst))
        self.max_abs, self.largest_at = _first_largest(
            (self.max_abs, self.largest_at), (other.max_abs, other.largest_at)
        )
        if self.counts is not None and other.counts is not None:
            for counts, added in zip(self.counts, other.counts, strict=True):
                counts.counts += added.counts


def _first_largest(one: tuple[float, int], two: tuple[float, int]) -> tuple[float, int]:
    return max(one, two, key=lambda item: (item[0], -item[1]))


@dataclass
class Block:
    """The errors of one block.

    Attributes:
        errors: Absolute errors; 0 where either side is NaN.
        relative: Errors divided by the reference; 0/0 counts as 0, x/0 as infinite.
        largest: The largest absolute error.
        largest_rel: The largest relative error.
        scale: The largest finite magnitude of the reference.
        nan: Mask of the elements that are NaN on either side and not forgiven; None if there are none.
        irregular: Counts of NaNs and infinities; None where there are none.
    """

    errors: Floats
    relative: Floats
    largest: float
    largest_rel: float
    scale: float
    nan: NDArray[np.bool_] | None = None
    irregular: Irregular | None = None


@dataclass(frozen=True)
class Irregular:
    """NaNs and infinities of one block.

    Attributes:
        nan_candidate: NaNs in the candidate.
        nan_reference: NaNs in the reference.
        nan_mismatched: Positions where only one side is NaN.
        inf_matched: Positions where both sides hold the same infinity.
        inf_failed: Positions where a side holds an infinity that is not equal to the other's.
    """

    nan_candidate: int
    nan_reference: int
    nan_mismatched: int
    inf_matched: int
    inf_failed: int


class BlockErrors:
    """Calculator of the errors of a block, one per thread; the arrays it gives are overwritten by the next block.

    Args:
        difference: Gives absolute errors and magnitudes.
        limits: Tolerances of an element, and the rules for NaN and infinity.
        wide: Whether the magnitude of a finite number may exceed float64's range, as that of a complex one.
    """

    def __init__(self, difference: Difference, limits: Limits, *, wide: bool = False) -> None:
        self.difference = difference
        self.limits = limits
        self.wide = wide

    def __call__(self, candidate: Array, reference: Array) -> Block:
        """Return the errors of a block."""
        errors, magnitudes = self.difference(candidate, reference)
        largest, scale = float(errors.max()), float(magnitudes.max())
        if not math.isfinite(largest) or (self.wide and not math.isfinite(scale)):
            return self._irregular(candidate.reshape(-1), reference.reshape(-1), errors, magnitudes)
        relative = np.divide(errors, magnitudes, out=magnitudes)
        largest_rel = float(relative.max())
        if math.isnan(largest_rel):  # 0/0 is NaN, which fmax passes over
            largest_rel = float(np.fmax(relative, 0.0, out=relative).max())
        return Block(errors, relative, largest, largest_rel, scale)

    def _irregular(self, candidate: Array, reference: Array, errors: Floats, magnitudes: Floats) -> Block:
        """Take in a block that holds NaN or infinity, or differences beyond the largest float64."""
        candidate, reference = _calculable(candidate), _calculable(reference)
        nan_candidate, nan_reference = np.isnan(candidate), np.isnan(reference)
        either = nan_candidate | nan_reference
        mismatched = nan_candidate != nan_reference
        lost = mismatched if self.limits.equal_nan else either
        infinite = (np.isinf(candidate) | np.isinf(reference)) & ~either
        same_infinity = infinite & (candidate == reference)
        # Not what was subtracted: the difference of two infinities is NaN, and NaN exceeds no tolerance.
        errors[infinite] = np.inf
        if self.limits.equal_inf:
            errors[same_infinity] = 0.0
        errors[either] = 0.0
        scale = float(magnitudes.max(initial=0.0, where=np.isfinite(magnitudes)))
        magnitudes[either] = 1.0
        overflown = ~(infinite | either) & ~(np.isfinite(errors) & np.isfinite(magnitudes))
        relative = np.divide(errors, magnitudes, out=magnitudes)
        if overflown.any():
            relative[overflown] = _scaled_relative(candidate[overflown], reference[overflown])
        undefined = np.isnan(relative)
        relative[undefined] = np.where(errors[undefined] == 0.0, 0.0, np.inf)
        unequal = infinite & ~same_infinity if self.limits.equal_inf else infinite
        places = (nan_candidate, nan_reference, mismatched, same_infinity, unequal)
        counts = (int(np.count_nonzero(one)) for one in places)
        largest, largest_rel = float(errors.max()), float(relative.max())
        return Block(errors, relative, largest, largest_rel, scale, lost if lost.any() else None, Irregular(*counts))


def _calculable(block: Array) -> Array:
    """Return a block in a type that every NumPy calculates with; float64 holds all low-bit numbers."""
    if not is_low_bit(block.dtype):
        return block
    return wide(block)


def _scaled_relative(candidate: Array, reference: Array) -> Floats:
    """Return relative errors of finite numbers whose difference or magnitude exceeds float64's range."""
    wide = np.result_type(candidate.dtype, reference.dtype, np.float64)
    a, b = candidate.astype(wide) / 4, reference.astype(wide) / 4
    return np.asarray(np.absolute(a - b) / np.absolute(b), np.float64)


class _Worker:
    """The pass of one thread."""

    def __init__(self, block_errors: BlockErrors, counted: bool) -> None:
        self.block_errors = block_errors
        self.limits = block_errors.limits
        self.sums = Sums(counts=(BitCounts(), BitCounts()) if counted else None)

    def __call__(self, candidate: Array, reference: Array, offset: int) -> None:
        sums = self.sums
        equal_scale = scale_if_equal(candidate, reference) if sums.counts is None else None
        if equal_scale is not None:
            sums.counted += candidate.size
            sums.scale = max(sums.scale, equal_scale)
            return
        block = self.block_errors(candidate, reference)
        if block.irregular is not None:
            for name, count in vars(block.irregular).items():
                setattr(sums, name, getattr(sums, name) + count)
        sums.counted += block.errors.size
        sums.scale = max(sums.scale, block.scale)
        if block.nan is not None:
            lost = int(np.count_nonzero(block.nan))
            sums.counted -= lost
            sums.nan_failed += lost
            sums.failed += lost
            self._offer(math.inf, offset + int(block.nan.argmax()))
        sums.sum_abs += float(block.errors.sum())
        sums.sum_rel += float(block.relative.sum())
        self._judge(block, offset)
        if sums.counts is not None:
            sums.counts[0].add(_with_nan(block, relative=False))
            sums.counts[1].add(_with_nan(block, relative=True))

    def _judge(self, block: Block, offset: int) -> None:
        sums, limits, errors, relative = self.sums, self.limits, block.errors, block.relative
        sums.max_rel = max(sums.max_rel, block.largest_rel)
        if block.largest > sums.max_abs:
            sums.max_abs, sums.largest_at = block.largest, offset + int(errors.argmax())
        if block.largest <= limits.atol or block.largest_rel <= limits.rtol:
            return
        failed = errors > limits.atol
        failed &= relative > limits.rtol
        count = int(np.count_nonzero(failed))
        if count:
            sums.failed += count
            excess = _excess(errors, relative, limits)
            excess[~failed] = -1.0
            at = int(excess.argmax())
            self._offer(float(excess[at]), offset + at)

    def _offer(self, excess: float, at: int) -> None:
        self.sums.excess, self.sums.worst = _first_largest((self.sums.excess, self.sums.worst), (excess, at))


def _excess(errors: Floats, relative: Floats, limits: Limits) -> Floats:
    """Return by which factor both tolerances would have to grow for each element to pass."""
    if limits.atol == 0.0 == limits.rtol:
        return np.array(errors, np.float64)
    factors: Floats = errors / limits.atol
    np.fmin(factors, relative / limits.rtol, out=factors)
    return factors


def block_errors(pair: Pair, limits: Limits) -> Callable[[], BlockErrors]:
    """Return a factory that creates, per thread, the `BlockErrors` of a pair."""
    dtypes = pair.original[0].dtype, pair.original[1].dtype
    make = difference_of(*dtypes)
    wide = "complex" in {dtype_class(dtype) for dtype in dtypes}
    return lambda: BlockErrors(make(), limits, wide=wide)


def gather(pair: Pair, limits: Limits, *, counted: bool = False) -> Sums:
    """Return the figures of all elements.

    Args:
        pair: The arrays.
        limits: Tolerances of an element, and the rules for NaN and infinity.
        counted: Whether to count the bits of both kinds of errors in the same pass, for approximate quantiles.
    """
    scale = None if counted else scale_if_all_equal(pair)
    if scale is not None:
        return Sums(counted=pair.size, scale=scale)
    workers: list[_Worker] = []
    make = block_errors(pair, limits)

    def worker() -> _Worker:
        workers.append(_Worker(make(), counted))
        return workers[-1]

    for_each_block(pair, worker)
    total = workers[0].sums
    for other in workers[1:]:
        total.merge(other.sums)
    return total


def summarise(pair: Pair, sums: Sums, limits: Limits) -> ErrorStats:
    """Return the statistics that every verdict carries."""
    at = sums.worst if sums.worst >= 0 else sums.largest_at
    index, candidate, reference = pair.values_at(max(at, 0))
    count = max(sums.counted, 1)
    return ErrorStats(
        count=pair.size,
        failed=sums.failed,
        max_abs=sums.max_abs,
        scale=sums.scale,
        mean_abs=mean_of(sums.sum_abs, count),
        max_rel=sums.max_rel,
        mean_rel=mean_of(sums.sum_rel, count),
        required_abs=math.inf if sums.nan_failed else sums.max_abs,
        required_rel=math.inf if sums.nan_failed else sums.max_rel,
        worst=Worst(index, as_scalar(candidate), as_scalar(reference)),
        nan_candidate=sums.nan_candidate,
        nan_reference=sums.nan_reference,
        nan_mismatched=sums.nan_mismatched,
        nan_failed=sums.nan_failed,
        inf_matched=sums.inf_matched,
        inf_forgiven=sums.inf_matched if limits.equal_inf else 0,
        whole=all(dtype_class(array.dtype) in {"integer", "bool"} for array in pair.original),
    )


def mean_of(total: float, count: int) -> float:
    """Return a mean by its sum; where that is not 0, the mean is not rounded to 0, which is within every tolerance."""
    return total / count or min(total, math.ulp(0.0))


def differences(candidate: Array, reference: Array) -> ErrorStats:
    """Return the statistics of two arrays without any tolerance, for failures that another measure found."""
    pair = Pair(candidate, reference)
    limits = Limits(0.0, 0.0)
    return summarise(pair, gather(pair, limits), limits)


def count_beyond(candidate: Array, reference: Array, atol: float) -> int:
    """Return how many elements of two arrays are further apart than a tolerance; equal NaN and infinities are not.

    Args:
        candidate: An array.
        reference: Another of the same shape.
        atol: The absolute tolerance.
    """
    return gather(Pair(candidate, reference), Limits(atol, 0.0, equal_nan=True, equal_inf=True)).failed


def errors_with_nan(pair: Pair, limits: Limits, *, relative: bool) -> Callable[[], Callable[[Array, Array], Floats]]:
    """Return a factory of functions, one per thread, for the errors of a block; NaN counts as infinite."""
    make = block_errors(pair, limits)

    def worker() -> Callable[[Array, Array], Floats]:
        errors_of = make()
        return lambda candidate, reference: _with_nan(errors_of(candidate, reference), relative=relative)

    return worker


def sorted_errors(pair: Pair, limits: Limits) -> tuple[Floats, Floats]:
    """Return the absolute and the relative errors of all elements, sorted; NaN counts as infinite."""
    blocks: list[tuple[Floats, Floats]] = []
    make = block_errors(pair, limits)

    def worker() -> Callable[[Array, Array, int], None]:
        errors_of = make()

        def work(candidate: Array, reference: Array, _offset: int) -> None:
            block = errors_of(candidate, reference)
            blocks.append((_with_nan(block, relative=False).copy(), _with_nan(block, relative=True).copy()))

        return work

    for_each_block(pair, worker)
    absolute, relative = (np.sort(np.concatenate(parts)) for parts in zip(*blocks, strict=True))
    return absolute, relative


def _with_nan(block: Block, *, relative: bool) -> Floats:
    errors = block.relative if relative else block.errors
    if block.nan is not None:
        errors[block.nan] = math.inf
    return errors
