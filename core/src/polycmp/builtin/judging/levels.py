"""Size of the noise that rounding makes of a tensor, and of the error between two tensors, in the same figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.limits import MARGIN, SAMPLES
from polycmp.compare import Scales, scales_of, wide
from polycmp.precision import is_steps, operator_rounding, unit_of
from polycmp.tensors import dtype_class, dtype_name, is_floating, is_low_bit, to_numpy

Array = NDArray[Any]
#: Elements that are widened at a time.
BLOCK = 1 << 18


@dataclass(frozen=True)
class Level:
    """Size of the noise of a tensor, or of its part of one scale.

    Attributes:
        largest: The largest error of any element.
        rms: The root of the mean square of the errors.
    """

    largest: float
    rms: float

    def __add__(self, other: Level) -> Level:
        return Level(self.largest + other.largest, self.rms + other.rms)

    def at_least(self, other: Level) -> Level:
        """Return the larger of two levels, figure by figure."""
        return Level(max(self.largest, other.largest), max(self.rms, other.rms))


class Extent(NamedTuple):
    """Size of the numbers of a tensor, or of its part of one scale, and by how much they vary.

    Attributes:
        largest: The largest magnitude.
        rms: The root of the mean square of the numbers.
        deviation: Their standard deviation, of each slice of a scale by itself.
        reach: Their range, of the slice that has the largest.
    """

    largest: float
    rms: float
    deviation: float
    reach: float


class Values:
    """The numbers of a tensor that are judged. What is known of them is found out when it is asked for, and once.

    Args:
        whole: The tensor.
        keep: Mask of the numbers that are judged; None for all.

    Attributes:
        whole: The tensor.
        keep: Mask of the numbers that are judged; None for all.
    """

    def __init__(self, whole: Array, keep: NDArray[np.bool_] | None = None) -> None:
        self.whole: Array = whole
        self.keep: NDArray[np.bool_] | None = keep

    @cached_property
    def array(self) -> Array:
        """The numbers."""
        return self.kept(self.whole)

    @cached_property
    def scales(self) -> Scales:
        """The scales that they have."""
        return scales_of(self.array)

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """The extent of the numbers of each scale."""
        return tuple(extent_of(part, self.scales.axis) for part in self.scales.parts(self.array))

    @property
    def largest(self) -> float:
        """The largest magnitude of any scale."""
        return max(extent.largest for extent in self.extents)

    def kept(self, other: Array) -> Array:
        """Return the numbers of another tensor, of the same shape, that are judged beside these."""
        return other if self.keep is None else other[self.keep]

    def without(self, left_out: NDArray[np.bool_]) -> Values:
        """Return the numbers without those of a mask."""
        return Values(self.whole, ~left_out if self.keep is None else self.keep & ~left_out)


def sampled_levels(exact: Array, perturbed: Iterable[Array], scales: Scales) -> tuple[Level, ...] | None:
    """Return the noise of a tensor, for each of its scales; None where samples have other shapes, or are not finite.

    Args:
        exact: The tensor.
        perturbed: Samples of it, from runs with moved tensors.
        scales: The tensor's scales.
    """
    samples = list(perturbed)
    if not samples or any(item.shape != exact.shape for item in samples):
        return None
    levels = []
    for part, *moved in zip(scales.parts(exact), *map(scales.parts, samples), strict=True):
        errors = [level_between(item, part) for item in moved]
        if any(lost for _, lost in errors):
            return None
        levels.append(_level_of_samples([level for level, _ in errors]))
    return tuple(levels)


def _level_of_samples(levels: Sequence[Level]) -> Level:
    """Return the largest error of samples and their root mean square; in that, samples not taken yet count as equal."""
    squares = sum(level.rms**2 for level in levels)
    return Level(max(level.largest for level in levels), math.sqrt(squares / max(SAMPLES, len(levels))))


def perturbed_inputs(
    feed: Mapping[str, Any],
    kinds: Mapping[str, str | float | tuple[float, ...]],
    seed: int,
    *,
    all_types: bool = False,
    times: float = 1.0,
) -> dict[str, Any]:
    """Return inputs moved by up to one rounding to a type that is coarser than their own; others as they are.

    Args:
        feed: Arrays by name.
        kinds: The type that an input is rounded to, by name, its own at least; of all others under the empty name.
        seed: Seed of the random numbers.
        all_types: Whether the others move, too, by a rounding to their own type.
        times: How many times as far they move.
    """
    moved, random = {}, np.random.default_rng(seed)
    for name, value in feed.items():
        array = to_numpy(value)
        if not is_floating(array.dtype):
            moved[name] = array
            continue
        kind, own_unit = kinds.get(name, kinds.get("", "")), unit_of(dtype_name(array.dtype))
        share, width = 0.0, 0.0
        if not isinstance(kind, str):
            width = 0.5 * float(np.max(kind))
        elif is_steps(kind) and array.size:
            width = unit_of(kind) / 2 * (max(float(array.max()), 0.0) - min(float(array.min()), 0.0))
        elif name in kinds:
            share = max(unit_of(kind), own_unit)
        elif all_types or unit_of(kind) > own_unit:
            share = operator_rounding(max(unit_of(kind), own_unit)) if array.any() else 0.0
        moved[name] = _moved(array, times * share, times * width, random) if share or width else array
    return moved


def _moved(array: Array, share: float, width: float, random: np.random.Generator) -> Array:
    """Return numbers moved at random by up to a share of each, or by up to a width."""
    moved = np.array(array, order="C")
    flat = moved.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        values = wide(flat[start : start + BLOCK])
        by = share * np.abs(values) if share else width
        flat[start : start + BLOCK] = values + by * random.uniform(-1.0, 1.0, values.shape)
    return moved


def level_between(candidate: Array, reference: Array) -> tuple[Level, bool]:
    """Return the distance between two tensors of one shape, and whether finite numbers of the second are lost."""
    largest, squares, lost = 0.0, 0.0, False
    for cut, _ in cuts(reference.shape):
        errors, gone = _errors(candidate[cut], reference[cut])
        lost = lost or gone
        largest = max(largest, float(errors.max(initial=0.0)))
        with np.errstate(all="ignore"):
            squares += float(np.sum(errors * errors))
    return Level(largest, math.sqrt(squares / max(reference.size, 1))), lost


def _errors(candidate: Array, reference: Array) -> tuple[Array, bool]:
    """Return the errors of a block, 0 where they are not finite, and whether numbers of the reference are lost."""
    a, b = wide(candidate), wide(reference)
    with np.errstate(all="ignore"):
        errors = np.abs(a - b)
    is_finite = np.isfinite(errors)
    if is_finite.all():
        return errors, False
    return np.where(is_finite, errors, 0.0), bool((np.isfinite(b) & ~np.isfinite(a)).any())


def cuts(shape: tuple[int, ...]) -> Iterator[tuple[tuple[slice, ...], int]]:
    """Yield the blocks of a tensor along its longest axis, and that axis."""
    size, longest = math.prod(shape), max(range(len(shape)), key=shape.__getitem__, default=0)
    if size <= BLOCK or not shape:
        yield (slice(None),) * len(shape), longest
        return
    step = max(1, BLOCK * shape[longest] // size)
    for start in range(0, shape[longest], step):
        cut = [slice(None)] * len(shape)
        cut[longest] = slice(start, start + step)
        yield tuple(cut), longest


def rounded_levels(values: Values, share: float) -> tuple[Level, ...]:
    """Return the noise of errors that are a share of a tensor's largest magnitude, for each of its scales."""
    return tuple(Level(share * extent.largest, share * extent.rms) for extent in values.extents)


def one_tie(values: Values, step: float) -> tuple[Level, ...]:
    """Return the noise of which the bound is one number that is one step off, for each scale of a tensor.

    Args:
        values: The tensor.
        step: The distance of neighbouring numbers.
    """
    share = step / MARGIN if MARGIN else 0.0
    sizes = (part.size for part in values.scales.parts(values.array))
    return tuple(Level(share, share / math.sqrt(max(size, 1))) for size in sizes)


def extent_of(part: Array, axis: int | None) -> Extent:
    """Return the size of numbers, and by how much they vary, of each slice along an axis by itself.

    What is not finite counts as 0. A tensor of one value varies by that value.
    """
    if not part.size:
        return Extent(0.0, 0.0, 0.0, 0.0)
    is_complex = dtype_class(part.dtype) == "complex"
    slices = part.shape[axis] if axis is not None else 1
    pivot = 0.0 if is_complex else float(wide(part.reshape(-1)[:1])[0])
    pivot = pivot if math.isfinite(pivot) else 0.0
    total, sums, squares = 0.0, np.zeros(slices), np.zeros(slices)
    low, high = np.full(slices, np.inf), np.full(slices, -np.inf)
    for cut, longest in cuts(part.shape):
        values = magnitudes(part[cut]) if is_complex else finite(wide(part[cut]))
        others = tuple(other for other in range(values.ndim) if other != axis) if axis is not None else None
        place = cut[longest] if axis is not None and axis == longest else slice(None)
        low[place] = np.minimum(low[place], values.min(axis=others))
        high[place] = np.maximum(high[place], values.max(axis=others))
        total += float(np.sum(values * values))
        if pivot:
            values = values - pivot
        sums[place] += values.sum(axis=others)
        squares[place] += (values * values).sum(axis=others)
    largest, rms = max(abs(float(low.min())), abs(float(high.max()))), math.sqrt(total / part.size)
    length, reach = part.size // slices, float((high - low).max())
    if is_complex or reach == 0.0:
        return Extent(largest, rms, rms, largest)
    variance = np.maximum(squares / length - (sums / length) ** 2, 0.0)
    return Extent(largest, rms, float(np.sqrt(variance.mean())), reach)


def magnitudes(array: Array) -> Array:
    """Return the magnitudes of a tensor, 0 for what is not finite."""
    return finite(np.abs(wide(array)))


def finite(values: Array) -> Array:
    """Return numbers with 0 in place of what is not finite."""
    is_finite = np.isfinite(values)
    return values if is_finite.all() else np.where(is_finite, values, 0.0)


def finite_places(array: Array) -> NDArray[np.bool_]:
    """Return a mask of the finite numbers of a tensor."""
    mask = np.ones(array.shape, np.bool_)
    for cut, _ in cuts(array.shape):
        block = array[cut]
        mask[cut] = np.isfinite(wide(block) if is_low_bit(block.dtype) else block)
    return mask
