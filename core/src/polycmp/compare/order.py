"""Median and quantiles without sorting a tensor: counts over the bit patterns of the errors.

A non-negative float64 and its 64 bits, read as a whole number, are ordered alike. Counting the upper bits therefore
gives every quantile to within one count's width, and counting again inside that one gives it exactly: a radix
selection whose memory does not depend on the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blocks import Pair, for_each_block
from polycmp.compare.verdicts import Histogram

Array = NDArray[Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
#: Makes, for one thread, what gives one kind of error of a block; NaN is already replaced.
MakeErrors = Callable[[], Callable[[Array, Array], Floats]]

#: 11 bits of exponent and 7 of the mantissa: one count spans 1/128 of the numbers in it.
_LEVELS = ((45, 18), (28, 17), (11, 17), (0, 11))
#: Up to this many elements sorting is the fastest.
SMALL = 100_000
#: Up to this many elements of one count are copied out and sorted.
_COLLECTABLE = 1 << 19
_MANTISSA_BITS = 7


class BitCounts:
    """Counts of one thread over the values of some bits of the errors it is given.

    Args:
        level: Position of the bits: 0 for the uppermost.
        prefix: The bits above them that an error must have to be counted.

    Attributes:
        counts: Errors by value of those bits.
    """

    def __init__(self, level: int = 0, prefix: int = 0) -> None:
        self.shift: int
        self.shift, width = _LEVELS[level]
        self.mask: int = (1 << width) - 1
        self.above: int = self.shift + width if level else 0
        self.prefix = prefix
        self.counts: NDArray[np.int64] = np.zeros(1 << width, np.int64)

    def add(self, errors: Floats) -> None:
        """Count the errors of a block."""
        bits = errors.view(np.int64)
        if self.above:
            bits = bits[bits >> self.above == self.prefix]
            if not bits.size:
                return
        places = bits >> self.shift
        places &= self.mask
        low = int(places.min())
        places -= low
        counts = np.bincount(places)  # the errors of a block span few exponents: far shorter than all counts
        self.counts[low : low + counts.size] += counts


def count_bits(pair: Pair, make: MakeErrors, level: int = 0, prefix: int = 0) -> Counts:
    """Count the errors by the value of their bits at a level, among those whose higher bits equal a prefix."""
    parts: list[BitCounts] = []

    def worker() -> Callable[[Array, Array, int], None]:
        errors_of = make()
        part = BitCounts(level, prefix)
        parts.append(part)
        return lambda candidate, reference, _offset: part.add(errors_of(candidate, reference))

    for_each_block(pair, worker)
    total = parts[0].counts
    for part in parts[1:]:
        total += part.counts
    return total


def quantiles(pair: Pair, make: MakeErrors, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """Return exact quantiles of the errors, linearly interpolated between the two nearest elements."""
    if pair.size <= SMALL:
        return quantiles_of_sorted(collect(pair, make), wanted)
    selection = _Selection(pair, make)
    return tuple(_interpolate(one, pair.size, selection.at) for one in wanted)


def quantiles_of_sorted(errors: Floats, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """Return quantiles of sorted errors, linearly interpolated."""
    return tuple(_interpolate(one, errors.size, lambda rank: float(errors[rank])) for one in wanted)


def _interpolate(quantile: float, size: int, at: Callable[[int], float]) -> float:
    place = quantile * (size - 1)
    rank = int(place)
    low = at(rank)
    fraction = place - rank
    if not fraction:
        return low
    high = at(rank + 1)
    return low if low == high else low + (high - low) * fraction or math.ulp(0.0)  # not 0, although rounded to it


def collect(pair: Pair, make: MakeErrors, shift: int = 63, prefix: int = 0) -> Floats:
    """Return the errors whose bits above a shift equal a prefix, sorted."""
    errors_above: list[Floats] = []

    def worker() -> Callable[[Array, Array, int], None]:
        errors_of = make()

        def work(candidate: Array, reference: Array, _offset: int) -> None:
            errors = errors_of(candidate, reference)
            errors_above.append(errors[errors.view(np.int64) >> shift == prefix])

        return work

    for_each_block(pair, worker)
    return np.sort(np.concatenate(errors_above))


class _Selection:
    """Finds the error of any rank: first the count it falls into, then only the errors in there."""

    def __init__(self, pair: Pair, make: MakeErrors) -> None:
        self.pair = pair
        self.make = make
        self.counts = count_bits(pair, make)
        self.sorted: dict[int, Floats] = {}

    def at(self, rank: int) -> float:
        """Return the error of a rank, 0 being the smallest."""
        counts, prefix = self.counts, 0
        for level, (shift, width) in enumerate(_LEVELS):
            if level:
                counts = count_bits(self.pair, self.make, level, prefix)
            below = np.cumsum(counts)
            place = int(np.searchsorted(below, rank, side="right"))
            rank -= int(below[place - 1]) if place else 0
            prefix = prefix << width | place
            if level == 0 and counts[place] <= _COLLECTABLE:
                if prefix not in self.sorted:
                    self.sorted[prefix] = collect(self.pair, self.make, shift, prefix)
                return float(self.sorted[prefix][rank])
        return float(np.int64(prefix).view(np.float64))


def approximate_quantiles(counts: Counts, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """Return quantiles from the first level's counts: within 1/256 of the true element, for reports."""
    below = np.cumsum(counts)
    total = int(below[-1])
    if not total:
        return tuple(0.0 for _ in wanted)
    places = [int(np.searchsorted(below, round(one * (total - 1)), side="right")) for one in wanted]
    return tuple(_middle(place) for place in places)


def _edge(place: int) -> float:
    return float(np.int64(place << _LEVELS[0][0]).view(np.float64))


def _middle(place: int) -> float:
    low, high = _edge(place), _edge(place + 1)
    return low if place == 0 or not np.isfinite(high) else low + (high - low) / 2


def octaves_of_counts(counts: Counts) -> Counts:
    """Return the first level's counts added up by exponent."""
    return np.asarray(counts.reshape(-1, 1 << _MANTISSA_BITS).sum(axis=1))


def octaves_of_sorted(errors: Floats) -> Counts:
    """Count the errors by their exponent."""
    return np.bincount(errors.view(np.int64) >> 52, minlength=2048)


def histogram(octaves: Counts, most: int = 32) -> Histogram | None:
    """Return the distribution by powers of two below the largest error, or None where there is no finite one but 0.

    Args:
        octaves: Errors by exponent.
        most: At most so many bins; smaller errors are counted in the first.
    """
    finite = octaves[:2047]  # the last exponent is that of infinity
    filled = np.flatnonzero(finite)
    if not filled.size or filled[-1] == 0:
        return None
    top = int(filled[-1]) + 1
    bottom = max(1, int(filled[filled > 0][0]), top - most)
    edges = tuple(_edge(exponent << _MANTISSA_BITS) for exponent in range(bottom, top + 1))
    kept = finite[bottom:top].tolist()
    kept[0] += int(finite[:bottom].sum())
    return Histogram(edges, tuple(int(count) for count in kept))
