"""Errors of two arrays as images and as points, in bounded memory and without losing the largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Elements looked at in one go.
GROUP = 1 << 20
#: Pixels of an image along each side, at most.
PIXELS = 512
#: Images in one picture, at most.
IMAGES = 36
#: Points of a scatter plot, at most.
POINTS = 100_000
#: A pixel without an element: errors are never negative.
NOTHING = -1.0


@dataclass(frozen=True)
class Images:
    """Error images of one output.

    Attributes:
        absolute: Largest absolute error below each pixel, `[images, rows, columns]`; infinite for NaN.
        relative: Likewise the relative error.
        numbers: Positions of the images among those of the output.
        total: Number of images of the output.
        shape: Rows and columns of an image in elements.
        folded: Whether a vector was folded into rows.
    """

    absolute: Floats
    relative: Floats
    numbers: tuple[int, ...]
    total: int
    shape: tuple[int, int]
    folded: bool


def errors_of(candidate: NDArray[Any], reference: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Return absolute error, relative error and `|reference|` of two arrays of numbers, as float64.

    NaN on a side and unequal infinities count as infinite errors, 0/0 as 0.
    """
    wide: type[Any] = np.complex128 if "c" in {candidate.dtype.kind, reference.dtype.kind} else np.float64
    with np.errstate(all="ignore"):
        if candidate.dtype == reference.dtype and candidate.dtype.kind in "iu" and candidate.dtype.itemsize == 8:
            # float64 cannot hold these numbers, but it can hold their difference well enough for a picture.
            low, high = np.minimum(candidate, reference), np.maximum(candidate, reference)
            apart = high.astype(np.uint64) - low.astype(np.uint64)
            absolute = apart.astype(np.float64)
        else:
            left, right = candidate.astype(wide), reference.astype(wide)
            absolute = np.absolute(left - right).astype(np.float64)
            absolute[left == right] = 0.0
        size = np.absolute(reference.astype(wide)).astype(np.float64)
        relative = absolute / size
    relative[absolute == 0.0] = 0.0
    for item in (absolute, relative):
        item[np.isnan(item)] = np.inf
    return absolute, relative, size


def error_images(candidate: NDArray[Any], reference: NDArray[Any]) -> Images:
    """Return the errors as images of the last two axes; those with the largest errors where there are too many."""
    shape, folded = _image_shape(candidate.shape)
    total = 1 if folded else candidate.size // (shape[0] * shape[1])
    best: dict[int, tuple[Floats, Floats]] = {}
    for first, absolute, relative in _groups(candidate, reference, shape, total):
        picked = {i for item in (absolute, relative) for i in _peaks(item)}
        best = _best({**best, **{first + i: (absolute[i], relative[i]) for i in picked}})
    numbers = sorted(best)
    return Images(
        np.stack([best[number][0] for number in numbers]),
        np.stack([best[number][1] for number in numbers]),
        tuple(numbers),
        total,
        shape,
        folded,
    )


def _peaks(images: Floats) -> list[int]:
    """Rank images by their errors, the largest first."""
    return [int(i) for i in np.argsort(-images.max(axis=(1, 2)), kind="stable")[:IMAGES]]


def _best(images: dict[int, tuple[Floats, Floats]]) -> dict[int, tuple[Floats, Floats]]:
    """Return the images with the largest errors: in turns the next by absolute and the next by relative error."""
    if len(images) <= IMAGES:
        return images
    numbers = list(images)
    orders = (_peaks(np.stack([images[number][kind] for number in numbers])) for kind in (0, 1))
    turns = dict.fromkeys(numbers[i] for pair in zip(*orders, strict=True) for i in pair)
    return {number: images[number] for number in list(turns)[:IMAGES]}


def _image_shape(shape: tuple[int, ...]) -> tuple[tuple[int, int], bool]:
    if len(shape) >= 2:
        return (shape[-2], shape[-1]), False
    size = shape[0] if shape else 1
    columns = size if size <= 64 else math.ceil(math.sqrt(size))
    return (math.ceil(size / columns), columns), True


def _groups(
    candidate: NDArray[Any], reference: NDArray[Any], shape: tuple[int, int], total: int
) -> Iterator[tuple[int, Floats, Floats]]:
    size = shape[0] * shape[1]
    flat = candidate.reshape(-1), reference.reshape(-1)
    step = max(1, GROUP // size)
    for first in range(0, total, step):
        count = min(step, total - first)
        part = (array[first * size : (first + count) * size] for array in flat)
        absolute, relative, _ = errors_of(*part)
        if absolute.size < count * size:  # a folded vector ends within its last row
            padding = np.full(count * size - absolute.size, NOTHING)
            absolute, relative = np.append(absolute, padding), np.append(relative, padding)
        yield first, shrink(absolute.reshape(count, *shape)), shrink(relative.reshape(count, *shape))


def shrink(images: Floats, limit: int = PIXELS) -> Floats:
    """Return images of at most `limit` rows and columns in which each pixel is the largest of those below it."""
    for axis in (1, 2):
        length = images.shape[axis]
        if length > limit:
            factor = math.ceil(length / limit)
            images = np.maximum.reduceat(images, np.arange(0, length, factor), axis=axis)
    return images


def sample_points(candidate: NDArray[Any], reference: NDArray[Any]) -> tuple[Floats, Floats, Floats, int]:
    """Return `|reference|`, absolute and relative error of some elements, and how many elements there are.

    Every k-th element is taken, and of each group the elements with the largest errors of both kinds.
    """
    flat = candidate.reshape(-1), reference.reshape(-1)
    groups = math.ceil(flat[0].size / GROUP)
    step = max(1, math.ceil(flat[0].size / POINTS))
    extra = max(1, 2000 // groups)
    parts: Callable[[], list[Floats]] = list
    samples = (parts(), parts(), parts())
    for start in range(0, flat[0].size, GROUP):
        absolute, relative, size = errors_of(*(array[start : start + GROUP] for array in flat))
        indices = np.arange((-start) % step, absolute.size, step)
        if step > 1:
            tops = [np.argpartition(item, -min(extra, item.size))[-extra:] for item in (absolute, relative)]
            indices = np.unique(np.concatenate([indices, *tops]))
        for values, target in zip((size, absolute, relative), samples, strict=True):
            target.append(values[indices])
    size, absolute, relative = (np.concatenate(item) for item in samples)
    return size, absolute, relative, flat[0].size
