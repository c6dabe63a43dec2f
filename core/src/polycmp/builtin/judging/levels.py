"""Size of the noise that rounding makes of a tensor, and of the error between two tensors, in the same figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare import Scales, wide
from polycmp.precision import is_steps, operator_rounding, unit_of
from polycmp.tensors import dtype_class, dtype_name, is_floating, to_numpy

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
    return tuple(map(_largest_level, zip(*measured, strict=True)))


def _largest_level(levels: Sequence[Level]) -> Level:
    rms = math.sqrt(sum(level.rms**2 for level in levels) / len(levels))
    return Level(max(level.largest for level in levels), rms)


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


def level_between(candidate: Array, reference: Array) -> Level:
    """Measure the distance between two tensors, in blocks.

    Args:
        candidate: The tensor.
        reference: The other, of the same shape.
    """
    largest, squares = 0.0, 0.0
    for cut, _ in _cuts(reference.shape):
        with np.errstate(all="ignore"):
            errors = np.abs(wide(candidate[cut]) - wide(reference[cut]))
            errors = np.where(np.isfinite(errors), errors, 0.0)
            largest = max(largest, float(errors.max(initial=0.0)))
            squares += float(np.sum(errors * errors))
    return Level(largest, math.sqrt(squares / max(reference.size, 1)))


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
