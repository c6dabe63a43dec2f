"""Layouts of inputs in memory: the same values, with other strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import LabelledFeed

_MIN_PICTURE_AXES = 3


def laid_out(feed: LabelledFeed, layout: str) -> LabelledFeed:
    """Return a feed whose arrays have a layout; of `expanded` ones the first row is repeated.

    Args:
        feed: The feed, whose arrays are contiguous.
        layout: One of `LAYOUTS`.
    """
    if layout == "contiguous":
        return feed
    arrays = {name: _laid_out(np.asarray(array), layout) for name, array in feed.items()}
    return LabelledFeed(arrays, f"{feed.label}, {layout}", {**feed.repeat, "stress-layouts": [layout]})


def _laid_out(array: NDArray[Any], layout: str) -> NDArray[Any]:
    if not array.ndim:
        return array
    if layout == "expanded":
        return np.broadcast_to(array[:1], array.shape)
    if layout == "sliced":
        held = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        held[..., 1::2] = array
        return held[..., 1::2]
    if array.ndim < (_MIN_PICTURE_AXES if layout == "channels-last" else 2):
        return array
    axis = 1 if layout == "channels-last" else array.ndim - 2
    moved = np.array(np.moveaxis(array, axis, -1), order="C")
    return np.moveaxis(moved, -1, axis)
