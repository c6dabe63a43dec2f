"""Order of axes: how a tensor lies in a dump beside how the model has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]


def order_of(layout: str | tuple[int, ...], shape: Shape) -> tuple[int, ...] | None:
    """Return for each axis of a tensor in the model the one in the file; None where a layout does not fit its shape.

    Letters name the axes of the file. The model has N and C first, and the others in the file's order. A file without
    N holds one of a batch of one.

    Args:
        layout: Letters, or the order itself.
        shape: Shape of the tensor in the model.
    """
    if isinstance(layout, tuple):
        return layout if len(layout) == len(shape) else None
    letters = layout
    if "N" not in letters and len(shape) == len(letters) + 1 and shape[0] == 1:
        letters = f"N{letters}"
    if len(letters) != len(shape):
        return None
    first = [letter for letter in "NC" if letter in letters]
    return tuple(letters.index(letter) for letter in [*first, *(item for item in letters if item not in first)])


def file_shape(order: Sequence[int], shape: Shape) -> Shape:
    """Return the shape of a tensor in the file.

    Args:
        order: For each axis in the model the one in the file.
        shape: Shape in the model.
    """
    sizes = [0] * len(shape)
    for axis, place in enumerate(order):
        sizes[place] = shape[axis]
    return tuple(sizes)


def last_channel_order(rank: int) -> tuple[int, ...]:
    """Return the order of a file that has the channels last."""
    return (0, rank - 1, *range(1, rank - 1))


def same_but_ones(one: Shape, two: Shape) -> bool:
    """Return whether two shapes differ by axes of one element alone."""
    return [size for size in one if size != 1] == [size for size in two if size != 1]


def transposed(array: Array, order: Sequence[int]) -> Array:
    """Return an array with its axes in the model's order."""
    return np.ascontiguousarray(np.transpose(array, order))
