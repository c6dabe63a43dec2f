"""Size of the noise that rounding makes of a tensor, and of the error between two tensors, in the same figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.limits import FEW, SYSTEMATIC, SYSTEMATIC_IN_ROW
from polycmp.compare import FEWEST_IN_CHANNEL, Scales, scales_of, wide
from polycmp.precision import is_steps, operator_rounding, unit_of
from polycmp.tensors import dtype_class, dtype_name, is_floating, is_low_bit, to_numpy

Array = NDArray[Any]
#: Elements that are widened at a time.
BLOCK = 1 << 18


@dataclass(frozen=True)
class Level:
    """Size of the noise of a tensor, or of its part of one scale.

    Figures that an estimate does not give are infinite.

    Attributes:
        largest: The largest error of any element.
        rms: The root of the mean square of the errors.
        factor: By how much the factor between both sides differs from 1.
        shift: The mean of the errors, over the root of the mean square of the numbers.
        row: The largest error of a row or column that a factor and a shift of its own make, over the root of the mean
            square of its numbers, or of all.
    """

    largest: float
    rms: float
    factor: float = math.inf
    shift: float = math.inf
    row: float = math.inf

    def __add__(self, other: Level) -> Level:
        return Level(*(one + two for one, two in zip(self.figures, other.figures, strict=True)))

    @property
    def figures(self) -> tuple[float, float, float, float, float]:
        """All figures, in their order."""
        return self.largest, self.rms, self.factor, self.shift, self.row

    def at_least(self, other: Level) -> Level:
        """Return the larger of two levels, figure by figure; what one does not tell is the other's."""
        pairs = zip(self.figures, other.figures, strict=True)
        return Level(*(max(pair) if all(map(math.isfinite, pair)) else min(pair) for pair in pairs))


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
        self.whole, self.keep = whole, keep

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

    def without(self, left_out: NDArray[np.bool_] | None) -> Values:
        """Return the numbers without those of a mask."""
        if left_out is None:
            return self
        return Values(self.whole, ~left_out if self.keep is None else self.keep & ~left_out)


def sampled_levels(
    exact: Array, perturbed: Iterable[Array], scales: Scales, *, of_rows: bool = True
) -> tuple[Level, ...] | None:
    """Return the noise of a tensor, for each of its scales; None where samples have other shapes, or are not finite.

    Args:
        exact: The tensor.
        perturbed: Samples of it, from runs with moved tensors.
        scales: The tensor's scales.
        of_rows: Whether factors, shifts and rows are asked for.
    """
    samples = list(perturbed)
    if not samples or any(item.shape != exact.shape for item in samples):
        return None
    levels = []
    for part, *moved in zip(scales.parts(exact), *map(scales.parts, samples), strict=True):
        found = [_level_between(item, part, of_rows=of_rows) for item in moved]
        if any(lost for _, lost in found):
            return None
        level = _largest_level([level for level, _ in found])
        levels.append(level.at_least(_by_chance(level, part)) if of_rows else level)
    return tuple(levels)


def _largest_level(levels: Sequence[Level]) -> Level:
    rms = math.sqrt(sum(level.rms**2 for level in levels) / len(levels))
    most = [max(figures) for figures in zip(*(level.figures for level in levels), strict=True)]
    return Level(most[0], rms, *most[2:])


def _by_chance(noise: Level, part: Array) -> Level:
    """Return the factor, shift and row that independent errors of a tensor's noise leave by chance.

    A few samples of few numbers may leave far less: the errors themselves say more. The mean of n of them, and what
    they have in common with other n numbers, is a root of n smaller than one (n as Kish's effective sample size where
    the numbers are of different size).
    """
    squares, fourths = 0.0, 0.0
    for cut, _ in cuts(part.shape):
        values = np.square(magnitudes(part[cut]))
        squares, fourths = squares + float(np.sum(values)), fourths + float(np.sum(values * values))
    if part.size < FEW or not fourths > 0.0:
        return noise
    share = noise.rms / math.sqrt(squares / part.size)
    rows = max((part.shape[axis] for axis in _row_axes(part.ndim)), default=1)
    of_row = share * math.sqrt(2.0 * rows / part.size)
    return Level(noise.largest, noise.rms, share * math.sqrt(fourths) / squares, share / math.sqrt(part.size), of_row)


def perturbed_inputs(
    feed: Mapping[str, Any], kinds: Mapping[str, str | float | tuple[float, ...]], seed: int, *, all_types: bool = False
) -> dict[str, Any]:
    """Return inputs moved by up to one rounding to a type that is coarser than their own; others as they are.

    Args:
        feed: Arrays by name.
        kinds: The type that an input is rounded to, by name; of all others under the empty name.
        seed: Seed of the random numbers.
        all_types: Whether the others move, too, by a rounding to their own type.
    """
    moved, random = {}, np.random.default_rng(seed)
    for name, value in feed.items():
        array = to_numpy(value)
        if not is_floating(array.dtype):
            moved[name] = array
            continue
        kind, own = kinds.get(name, kinds.get("", "")), unit_of(dtype_name(array.dtype))
        share, width = 0.0, 0.0
        if not isinstance(kind, str):
            width = 0.5 * float(np.max(kind))
        elif is_steps(kind) and array.size:
            width = unit_of(kind) / 2 * (max(float(array.max()), 0.0) - min(float(array.min()), 0.0))
        elif all_types or unit_of(kind) > own:
            share = operator_rounding(max(unit_of(kind), own)) if array.any() else 0.0
        moved[name] = _moved(array, share, width, random) if share or width else array
    return moved


def _moved(array: Array, share: float, width: float, random: np.random.Generator) -> Array:
    """Return numbers moved at random by up to a share of each, or by up to a width."""
    made = np.array(array, order="C")
    flat = made.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        values = wide(flat[start : start + BLOCK])
        by = share * np.abs(values) if share else width
        flat[start : start + BLOCK] = values + by * random.uniform(-1.0, 1.0, values.shape)
    return made


def level_between(candidate: Array, reference: Array, *, gated: bool = False, of_rows: bool = True) -> Level:
    """Measure the distance between two tensors, in blocks.

    Args:
        candidate: The tensor.
        reference: The other, of the same shape.
        gated: Whether factors and shifts count only where they make a good share of an error.
        of_rows: Whether factors, shifts and rows are asked for.
    """
    return _level_between(candidate, reference, gated=gated, of_rows=of_rows)[0]


def _level_between(
    candidate: Array, reference: Array, *, gated: bool = False, of_rows: bool = True
) -> tuple[Level, bool]:
    """Return the distance between two tensors, and whether finite numbers of the reference are NaN or infinite."""
    if not of_rows:
        return _size_between(candidate, reference)
    is_complex = "complex" in {dtype_class(candidate.dtype), dtype_class(reference.dtype)}
    axes = [axis for axis in _row_axes(reference.ndim) if not is_complex and _has_rows(reference.shape, axis)]
    largest, of_errors, of_values, products, errors_sum, lost = 0.0, 0.0, 0.0, 0.0, 0.0, False
    rows = {axis: np.zeros((5, reference.shape[axis])) for axis in axes}
    for cut, longest in cuts(reference.shape):
        errors, b, gone = _errors(candidate[cut], reference[cut])
        lost = lost or gone
        sizes = np.abs(errors)
        largest = max(largest, float(sizes.max(initial=0.0)))
        with np.errstate(all="ignore"):
            of_errors += float(np.sum(sizes * sizes))
            of_values += float(np.sum(np.abs(b) ** 2))
            products += float(np.sum(np.conj(b) * errors).real)
            errors_sum += float(np.sum(errors).real)
            for axis, sums in rows.items():
                others = tuple(other for other in range(b.ndim) if other != axis)
                place = cut[longest] if axis == longest else slice(None)
                for row, values in enumerate((b, errors, b * b, b * errors, errors * errors)):
                    sums[row, place] += values.sum(axis=others)
    count = max(reference.size, 1)
    rms, size = math.sqrt(of_errors / count), math.sqrt(of_values / count)
    if reference.size < FEW or not 0.0 < size < math.inf or not math.isfinite(rms):
        return Level(largest, rms), lost
    factor, shift = abs(products / count) / size**2, abs(errors_sum / count) / size
    least = SYSTEMATIC * rms / size if gated else 0.0
    found = (_of_rows(sums, count // sums.shape[1], SYSTEMATIC_IN_ROW if gated else 0.0) for sums in rows.values())
    factor, shift = factor if factor >= least else 0.0, shift if shift >= least else 0.0
    return Level(largest, rms, factor, shift, max(found, default=0.0)), lost


def _size_between(candidate: Array, reference: Array) -> tuple[Level, bool]:
    """Return the same without factors, shifts and rows, of which nobody asks where no type is coarse."""
    largest, squares, lost = 0.0, 0.0, False
    for cut, _ in cuts(reference.shape):
        errors, _, gone = _errors(candidate[cut], reference[cut])
        lost = lost or gone
        sizes = np.abs(errors)
        largest = max(largest, float(sizes.max(initial=0.0)))
        with np.errstate(all="ignore"):
            squares += float(np.sum(sizes * sizes))
    return Level(largest, math.sqrt(squares / max(reference.size, 1))), lost


def _errors(candidate: Array, reference: Array) -> tuple[Array, Array, bool]:
    """Return the errors of a block, its reference, both 0 where errors are not finite, and whether numbers are lost."""
    a, b = wide(candidate), wide(reference)
    with np.errstate(all="ignore"):
        errors = a - b
    finite = np.isfinite(errors)
    if finite.all():
        return errors, b, False
    lost = bool((np.isfinite(b) & ~np.isfinite(a)).any())
    return np.where(finite, errors, 0.0), np.where(finite, b, 0.0), lost


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


def _row_axes(rank: int) -> set[int]:
    return {0, 1, rank - 1} if rank > 1 else set()


def _has_rows(shape: tuple[int, ...], axis: int) -> bool:
    return shape[axis] >= 2 and math.prod(shape) >= shape[axis] * FEWEST_IN_CHANNEL


def _of_rows(sums: NDArray[np.float64], length: int, least_share: float) -> float:
    """Return the largest error of a row that its own factor and shift make.

    Args:
        sums: Of each row the sums of its numbers, of their errors, of the squares of both, and of their products.
        length: Numbers in a row.
        least_share: The least share of a row's error that they make to count.
    """
    x, error, squares, products, of_errors = sums / length
    with np.errstate(all="ignore"):
        of_x, along = squares - x * x, products - x * error
        varies = of_x > 1e-12 * squares  # what is left of numbers that are all alike is their rounding
        systematic = error * error + np.where(varies, along * along / np.where(varies, of_x, 1.0), 0.0)
        share = np.sqrt(systematic / np.maximum(squares, squares.mean()))
        counts = np.isfinite(share) & (systematic >= least_share**2 * of_errors)
    return float(share[counts].max(initial=0.0))


def rounded_levels(values: Values, share: float) -> tuple[Level, ...]:
    """Return the noise of errors that are a share of a tensor's largest magnitude, for each of its scales.

    Args:
        values: The tensor.
        share: The share.
    """
    return tuple(Level(share * extent.largest, share * extent.rms) for extent in values.extents)


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
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, 0.0)


def finite_places(array: Array) -> NDArray[np.bool_]:
    """Return a mask of the finite numbers of a tensor."""
    made = np.ones(array.shape, np.bool_)
    for cut, _ in cuts(array.shape):
        block = array[cut]
        np.isfinite(wide(block) if is_low_bit(block.dtype) else block, out=made[cut])
    return made
