"""Channels of a tensor that hold one number in the candidate alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.sentences import channels_lost
from polycmp.tensors import dtype_class

Array = NDArray[Any]
#: Elements that a channel needs before it means anything that they are equal.
FEWEST_IN_CHANNEL = 8


def channel_axis(shape: tuple[int, ...]) -> int | None:
    """Return the axis that channels lie along: the second one; None where there are none, or they are too small."""
    axis = 1 if len(shape) > 2 else 0 if len(shape) == 1 else None
    if axis is None or shape[axis] < 2:
        return None
    size = math.prod(shape) // shape[axis]
    return axis if size >= FEWEST_IN_CHANNEL else None


def dead_channels(
    candidate: Array, reference: Array, axis: int | None, share: float, least: float
) -> NDArray[np.bool_] | None:
    """Return a mask of the channels that are constant in the candidate alone; None if there are none.

    Args:
        candidate: A tensor of real numbers.
        reference: The one to believe, of the same shape.
        axis: The axis that channels lie along.
        share: A channel of the reference varies if its values do by more than this share of the largest,
        least: and by more than this.
    """
    if axis is None or {dtype_class(candidate.dtype), dtype_class(reference.dtype)} != {"float"}:
        return None
    others = tuple(other for other in range(reference.ndim) if other != axis)
    with np.errstate(all="ignore"):
        flat = candidate.max(axis=others) == candidate.min(axis=others)
        if not flat.any():
            return None
        high, low = reference.max(axis=others).astype(np.float64), reference.min(axis=others).astype(np.float64)
        dead = flat & (high - low > np.maximum(share * np.maximum(np.abs(high), np.abs(low)), least))
    return dead if dead.any() else None


def describe_dead(dead: NDArray[np.bool_], candidate: Array, axis: int | None) -> str:
    """Return in words which channels are constant in the candidate alone.

    Args:
        dead: Mask over the channels: true where one is constant in the candidate alone.
        candidate: The tensor.
        axis: The axis that they lie along.
    """
    value = "one number each" if np.take(candidate, np.flatnonzero(dead), axis=axis).any() else "0"
    return channels_lost(int(dead.sum()), dead.size, axis, value)
