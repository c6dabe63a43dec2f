"""Scales of a tensor: slices along one axis that are far larger or smaller than the others, as boxes and scores are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blocks import wide
from polycmp.compare.channels import FEWEST_IN_CHANNEL

Array = NDArray[Any]
#: Neighbouring scales of an axis' slices that are so far apart belong to different things, as boxes and scores do
#: (choice: four bits).
_APART = 16.0
#: A scale that fewer slices of an axis have is none of its own unless it is the largest, as that of four rows of boxes
#: above eighty of scores is (choice).
_FEWEST_OF_AXIS = 1.0 / 16.0
#: Slices of an axis that are looked at; channels are not more.
_MOST_SLICES = 1 << 12
#: Elements that are widened at a time.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Scales:
    """The scales that a tensor has, along one axis.

    Attributes:
        axis: The axis; None where the tensor has one scale.
        members: The positions along the axis of each scale, the smallest scale first.
    """

    axis: int | None = None
    members: tuple[tuple[int, ...], ...] = ()

    def parts(self, array: Array) -> Iterator[Array]:
        """Yield the part of an array that has each scale."""
        if self.axis is None:
            yield array
        else:
            for positions in self.members:
                yield np.take(array, positions, axis=self.axis)

    @property
    def count(self) -> int:
        """The number of scales."""
        return len(self.members) if self.axis is not None else 1

    def where(self, index: int) -> str:
        """Return in words which channels have a scale; empty for the only one."""
        if self.axis is None:
            return ""
        positions = self.members[index]
        shown = ", ".join(map(str, positions[:4])) + (", …" if len(positions) > 4 else "")
        return f"in {len(positions)} of {sum(map(len, self.members))} channels of a scale of their own: {shown}"


def scales_of(reference: Array) -> Scales:
    """Return the scales of a tensor: along the axis whose slices are furthest apart, if they are far apart at all."""
    best, width = Scales(), _APART
    axes = [
        axis
        for axis in _channel_axes(reference.shape)
        if 2 <= reference.shape[axis] <= _MOST_SLICES and reference.size >= reference.shape[axis] * FEWEST_IN_CHANNEL
    ]
    for axis, sizes in zip(axes, _slice_sizes(reference, axes), strict=True):
        members, apart = _clusters(sizes)
        if len(members) > 1 and apart >= width:
            best, width = Scales(axis, members), apart
    return best


def _channel_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes that channels may lie along, which rows and columns of a picture are none of."""
    if len(shape) < 4:
        return tuple(range(len(shape)))
    last = len(shape) - 1
    if len(shape) == 4:
        return (last,) if shape[last] < min(shape[1:last]) else (1,)
    return 1, last


def _slice_sizes(array: Array, axes: list[int]) -> list[NDArray[np.float64]]:
    """Return the root mean squares of the slices along axes, read in blocks; what is not finite counts as 0."""
    if not axes:
        return []
    longest = max(range(array.ndim), key=array.shape.__getitem__)
    rows = max(1, _BLOCK * array.shape[longest] // array.size)
    sums = [np.zeros(array.shape[axis]) for axis in axes]
    for start in range(0, array.shape[longest], rows):
        cut: list[slice] = [slice(None)] * array.ndim
        cut[longest] = slice(start, start + rows)
        with np.errstate(all="ignore"):
            squares = np.square(np.abs(wide(array[tuple(cut)])))
        if not np.isfinite(squares).all():
            squares = np.where(np.isfinite(squares), squares, 0.0)
        for axis, total in zip(axes, sums, strict=True):
            others = tuple(other for other in range(array.ndim) if other != axis)
            part = squares.sum(axis=others)
            total[cut[longest] if axis == longest else slice(None)] += part
    return [np.sqrt(total * len(total) / array.size) for total in sums]


def _clusters(sizes: NDArray[np.float64]) -> tuple[tuple[tuple[int, ...], ...], float]:
    """Return the positions of slices by scale, and how far apart two neighbouring scales are at most."""
    order = [int(position) for position in np.argsort(sizes, kind="stable")]
    nonzero = [position for position in order if sizes[position] > 0.0]
    clusters: list[list[int]] = []
    for position in nonzero:
        if clusters and sizes[position] < _APART * sizes[clusters[-1][-1]]:
            clusters[-1].append(position)
        else:
            clusters.append([position])
    fewest = _FEWEST_OF_AXIS * len(order)
    joined: list[list[int]] = []
    for cluster in clusters:
        if joined and len(joined[-1]) < fewest:
            joined[-1] += cluster
        else:
            joined.append(cluster)
    if not joined:
        return (), 0.0
    joined[0] = [*order[: len(order) - len(nonzero)], *joined[0]]
    gaps = [sizes[two[0]] / sizes[one[-1]] for one, two in pairwise(joined) if sizes[one[-1]]]
    return tuple(tuple(sorted(cluster)) for cluster in joined), float(max(gaps, default=0.0))
