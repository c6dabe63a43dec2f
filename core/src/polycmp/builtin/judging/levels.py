"""Size of the noise that rounding makes of a tensor, and of the error between two tensors, in the same figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.limits import FEW, SYSTEMATIC, SYSTEMATIC_IN_ROW
from polycmp.compare import FEWEST_IN_CHANNEL, Scales, wide
from polycmp.precision import is_steps, operator_rounding, unit_of
from polycmp.tensors import dtype_class, dtype_name, is_floating, to_numpy

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


def sampled_levels(exact: Array, perturbed: Iterable[Array], scales: Scales) -> tuple[Level, ...] | None:
    """Return the noise of a tensor, for each of its scales; None where samples have other shapes, or are not finite.

    Args:
        exact: The tensor.
        perturbed: Samples of it, from runs with moved tensors.
        scales: The tensor's scales.
    """
    samples = list(perturbed)
    finite = np.isfinite(wide(exact))
    if any(item.shape != exact.shape or not np.isfinite(wide(item))[finite].all() for item in samples):
        return None
    measured = [
        [level_between(*parts) for parts in zip(scales.parts(item), scales.parts(exact), strict=True)]
        for item in samples
    ]
    if not measured:
        return None
    of_scales = zip(map(_largest_level, zip(*measured, strict=True)), scales.parts(exact), strict=True)
    return tuple(level.at_least(_by_chance(level, part)) for level, part in of_scales)


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
    values = magnitudes(part)
    squares, fourths = float(np.sum(values**2)), float(np.sum(values**4))
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
        values = wide(array)
        width: Any = 0.0
        if not isinstance(kind, str):
            width = 0.5 * float(np.max(kind))
        elif is_steps(kind):
            width = unit_of(kind) / 2 * (max(values.max(initial=0.0), 0.0) - min(values.min(initial=0.0), 0.0))
        elif all_types or unit_of(kind) > own:
            width = operator_rounding(max(unit_of(kind), own)) * np.abs(values)
        if np.any(width):
            array = (values + width * random.uniform(-1.0, 1.0, array.shape)).astype(array.dtype)
        moved[name] = array
    return moved


def level_between(candidate: Array, reference: Array, *, gated: bool = False) -> Level:
    """Measure the distance between two tensors, in blocks.

    Args:
        candidate: The tensor.
        reference: The other, of the same shape.
        gated: Whether factors and shifts count only where they make a good share of an error.
    """
    is_complex = "complex" in {dtype_class(candidate.dtype), dtype_class(reference.dtype)}
    axes = [axis for axis in _row_axes(reference.ndim) if not is_complex and _has_rows(reference.shape, axis)]
    largest, of_errors, of_values, products, errors_sum = 0.0, 0.0, 0.0, 0.0, 0.0
    rows = {axis: np.zeros((5, reference.shape[axis])) for axis in axes}
    for cut, longest in _cuts(reference.shape):
        a, b = wide(candidate[cut]), wide(reference[cut])
        with np.errstate(all="ignore"):
            errors = a - b
        finite = np.isfinite(errors)
        if not finite.all():
            errors, b = np.where(finite, errors, 0.0), np.where(finite, b, 0.0)
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
        return Level(largest, rms)
    factor, shift = abs(products / count) / size**2, abs(errors_sum / count) / size
    least = SYSTEMATIC * rms / size if gated else 0.0
    of_rows = (_of_rows(sums, count // sums.shape[1], SYSTEMATIC_IN_ROW if gated else 0.0) for sums in rows.values())
    return Level(
        largest, rms, factor if factor >= least else 0.0, shift if shift >= least else 0.0, max(of_rows, default=0.0)
    )


def _cuts(shape: tuple[int, ...]) -> Iterator[tuple[tuple[slice, ...], int]]:
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


def rounded_levels(reference: Array, share: float, scales: Scales) -> tuple[Level, ...]:
    """Return the noise of errors that are a share of a tensor's largest magnitude, for each of its scales.

    Args:
        reference: The tensor.
        share: The share.
        scales: The tensor's scales.
    """
    return tuple(Level(share * largest, share * rms) for largest, rms in map(size_of, scales.parts(reference)))


def size_of(array: Array) -> tuple[float, float]:
    """Return the largest magnitude of a tensor, and the root of their mean square; what is not finite counts as 0."""
    largest, squares = 0.0, 0.0
    for cut, _ in _cuts(array.shape):
        values = magnitudes(array[cut])
        largest = max(largest, float(values.max(initial=0.0)))
        squares += float(np.sum(values * values))
    return largest, math.sqrt(squares / max(array.size, 1))


def spread_of(part: Array, axis: int | None) -> tuple[float, float]:
    """Return by how much values vary: their standard deviation and range, of each slice along an axis by itself.

    A tensor of one value varies by that value.
    """
    if not part.size:
        return 0.0, 0.0
    largest, rms = size_of(part)
    if dtype_class(part.dtype) == "complex":
        return rms, largest
    slices = part.shape[axis] if axis is not None else 1
    pivot = float(wide(part.reshape(-1)[:1])[0])
    pivot = pivot if math.isfinite(pivot) else 0.0
    sums, squares = np.zeros(slices), np.zeros(slices)
    low, high = np.full(slices, np.inf), np.full(slices, -np.inf)
    for cut, longest in _cuts(part.shape):
        values = wide(part[cut])
        values = np.where(np.isfinite(values), values, 0.0)
        others = tuple(other for other in range(values.ndim) if other != axis) if axis is not None else None
        place = cut[longest] if axis is not None and axis == longest else slice(None)
        low[place] = np.minimum(low[place], values.min(axis=others))
        high[place] = np.maximum(high[place], values.max(axis=others))
        values = values - pivot
        sums[place] += values.sum(axis=others)
        squares[place] += (values * values).sum(axis=others)
    length = part.size // slices
    reach = float((high - low).max())
    if reach == 0.0:
        return rms, largest
    variance = np.maximum(squares / length - (sums / length) ** 2, 0.0)
    return float(np.sqrt(variance.mean())), reach


def magnitudes(array: Array) -> Array:
    """Return the magnitudes of a tensor, 0 for what is not finite."""
    values = np.abs(wide(array))
    return np.where(np.isfinite(values), values, 0.0)
