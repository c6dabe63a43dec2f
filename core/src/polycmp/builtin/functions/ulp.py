"""The compare function `ulp`: the distance of two numbers counted in representable numbers between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.verdict import lost_channels
from polycmp.compare import (
    DetailedVerdict,
    OutputJudge,
    Pair,
    Worst,
    as_scalar,
    compare_strings,
    difference_of,
    differences,
    for_each_block,
    is_extended,
    require_metric,
    shape_reason,
    worst_reason,
)
from polycmp.options import pick
from polycmp.tensors import dtype_class, is_floating, number_info

if TYPE_CHECKING:
    from polycmp.builtin.functions.options import UlpOptions

Array = NDArray[Any]
#: Turns a block of one element type into ranks: neighbours differ by 1, and both zeros have rank 0.
Ranks = Callable[[Array], NDArray[np.int64]]


@dataclass(frozen=True)
class Ulp(OutputJudge):
    """Judge each element by its distance in representable numbers.

    If the element types differ, both sides are first rounded to the one with the shorter mantissa. NaN is infinitely
    far from everything, infinity from everything but itself, and so is a number that the shorter type cannot hold.
    Whole numbers are compared by their difference.

    Args:
        options: The largest distance that passes, per output.
    """

    options: UlpOptions

    def judge(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        a, b = candidate, reference
        allowed = pick(self.options.tolerance, output, 4)
        tolerance = {"ulp": float(allowed)}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        kinds = {dtype_class(a.dtype), dtype_class(b.dtype)}
        if "string" in kinds:
            return compare_strings(a, b)
        if "complex" in kinds:
            return DetailedVerdict(False, "complex numbers have no distance in ulp", tolerance=tolerance)
        if is_extended(a.dtype) or is_extended(b.dtype):
            return DetailedVerdict(
                False, "numbers longer than float64 have no distance in ulp here", tolerance=tolerance
            )
        pair = Pair(a, b)
        distances = _distances(pair, allowed)
        metrics = {"max_ulp": distances.largest, "failed": float(distances.failed)}
        if not distances.failed:
            return DetailedVerdict(True, "", metrics, None, tolerance)
        index, left, right = pair.values_at(distances.at)
        worst = worst_reason(Worst(index, as_scalar(left), as_scalar(right)))
        distance = "NaN, or infinity on one side" if math.isinf(distances.largest) else f"{distances.largest:.0f} ulp"
        reason = f"{distances.failed} of {pair.size} elements are more than {allowed} ulp apart, {worst} ({distance})"
        reason = "; ".join(filter(None, (reason, lost_channels(a, b))))
        return DetailedVerdict(False, reason, metrics, differences(a, b), tolerance)

    def judge_metrics(self, metrics: Mapping[str, float], *, output: str = "") -> DetailedVerdict:
        """Return the verdict on a distance that was computed before.

        Args:
            metrics: `max_ulp`, the largest distance.
            output: The output's name, for a tolerance of its own.

        Raises:
            ComparisonError: The distance is not among the metrics.
        """
        largest = require_metric(metrics, "max_ulp", output)
        allowed = pick(self.options.tolerance, output, 4)
        passed = largest <= allowed
        reason = "" if passed else f"the largest distance is {largest:g} ulp (at most {allowed} allowed)"
        return DetailedVerdict(passed, reason, {"max_ulp": largest}, None, {"ulp": float(allowed)})


@dataclass
class _Distances:
    largest: float = 0.0
    at: int = -1
    failed: int = 0
    parts: list[_Distances] = field(default_factory=list)

    def offer(self, largest: float, at: int) -> None:
        if largest > self.largest or (largest == self.largest and (self.at < 0 or at < self.at)):
            self.largest, self.at = largest, at


def _distances(pair: Pair, allowed: int) -> _Distances:
    parts: list[_Distances] = []
    make = _distance_of(pair)

    def worker() -> Callable[[Array, Array, int], None]:
        distance = make()
        part = _Distances()
        parts.append(part)

        def work(candidate: Array, reference: Array, offset: int) -> None:
            distances = distance(candidate, reference)
            place = int(distances.argmax())
            part.offer(float(distances[place]), offset + place)
            if part.largest > allowed:
                part.failed += int(np.count_nonzero(distances > allowed))

        return work

    for_each_block(pair, worker)
    total = _Distances()
    for part in parts:
        total.failed += part.failed
        if part.at >= 0:
            total.offer(part.largest, part.at)
    return total


def _distance_of(pair: Pair) -> Callable[[], Callable[[Array, Array], NDArray[np.float64]]]:
    one, two = pair.candidate.dtype, pair.reference.dtype
    if not (is_floating(one) and is_floating(two)):
        make = difference_of(one, two)
        return lambda: _first(make())
    dtype = min((one, two), key=lambda dtype: number_info(dtype).nmant).newbyteorder("=")
    ranks, end = _ranks(dtype), _end(dtype)

    def distance(candidate: Array, reference: Array) -> NDArray[np.float64]:
        blocks = candidate.reshape(-1), reference.reshape(-1)
        a, b = (block.astype(dtype, copy=False) for block in blocks)
        distances = _apart(ranks(a), ranks(b), wide=dtype.itemsize == 8)
        held = np.isfinite(a) & np.isfinite(b) if end is None else _below(blocks[0], end) & _below(blocks[1], end)
        if not held.all():
            distances[~held & ~_same_infinity(*blocks)] = np.inf
        return distances

    return lambda: distance


def _apart(left: NDArray[np.int64], right: NDArray[np.int64], *, wide: bool) -> NDArray[np.float64]:
    if not wide:
        return np.asarray(np.absolute(left - right), np.float64)
    # as unsigned numbers the difference of any two int64 fits
    one, two = left.view(np.uint64), right.view(np.uint64)
    return np.where(left > right, one - two, two - one).astype(np.float64)


def _end(dtype: np.dtype[Any]) -> float | None:
    """Return from where on numbers are too large for a type that has neither infinity nor NaN; None for all others.

    Such a type makes its largest number of everything beyond, where others show that there was more.
    """
    every = _every(dtype) if dtype.itemsize == 1 else np.array([np.inf])
    if not np.isfinite(every).all():
        return None
    largest, before = np.unique(every)[[-1, -2]]
    return float(largest + (largest - before) / 2)


def _below(block: Array, end: float) -> NDArray[np.bool_]:
    return np.asarray(np.abs(block.astype(np.float64)) < end)


def _same_infinity(candidate: Array, reference: Array) -> NDArray[np.bool_]:
    a, b = candidate.astype(np.float64), reference.astype(np.float64)
    return np.asarray(np.isinf(a) & (a == b))


def _first(difference: Callable[[Array, Array], tuple[Any, Any]]) -> Callable[[Array, Array], NDArray[np.float64]]:
    def distance(candidate: Array, reference: Array) -> NDArray[np.float64]:
        errors: NDArray[np.float64] = difference(candidate, reference)[0]
        errors[np.isnan(errors)] = np.inf
        return errors

    return distance


def _ranks(dtype: np.dtype[Any]) -> Ranks:
    if dtype.itemsize == 1:
        return _ranks_of_table(dtype)
    bits = np.dtype(f"int{8 * dtype.itemsize}")
    smallest = np.int64(np.iinfo(bits).min)

    def ranks(block: Array) -> NDArray[np.int64]:
        raw = block.view(bits).astype(np.int64)
        # sign and magnitude: the bits of a negative number grow as it falls
        return np.where(raw < 0, smallest - raw, raw)

    return ranks


def _ranks_of_table(dtype: np.dtype[Any]) -> Ranks:
    every = _every(dtype)
    known = np.unique(every[~np.isnan(every)])  # both zeros are one entry
    return lambda block: np.searchsorted(known, block.astype(np.float64)).astype(np.int64)


def _every(dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return all numbers of a type of one byte."""
    return np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
