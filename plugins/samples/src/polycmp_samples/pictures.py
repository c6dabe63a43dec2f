"""Pictures in the layout, size, type and range of values that an input has."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import TensorEntry, dtype_class
from polycmp_samples.options import SCALES
from polycmp_samples.stored import picture

#: Channels of a picture in colours, and of several such in one.
COLOURS, STACKED = {3, 4}, {6, 9, 12}
#: A picture is at least so high and wide.
LEAST = 8
#: Lower inputs show one line: the heading of the page, which is so high.
LINE, HEADING = 128, 96


class ImageLayout(NamedTuple):
    """Axes of an image in an input's shape."""

    channels: int
    height: int
    width: int


def layout_of(shape: tuple[int, ...]) -> ImageLayout | None:
    """Find the axes of an image in an input's shape; None if it is no image."""
    rank = len(shape)
    orders = [(rank - 3, rank - 2, rank - 1), (rank - 1, rank - 3, rank - 2)]
    if rank > 4:
        orders.append((1, rank - 2, rank - 1))
    for channels, height, width in orders if rank > 2 else ():
        count = shape[channels]
        # Without a batch, a single channel could as well be a batch of one: then it is a table of features.
        some = COLOURS if rank == 3 else {1, *COLOURS, *STACKED}
        if count in some and min(shape[height], shape[width]) >= LEAST:
            return ImageLayout(channels, height, width)
    return None


def scale_for(entry: TensorEntry, asked: str) -> str:
    """Return the range of values that suits an input: raw for whole numbers and where the model normalises, or 0..1.

    Args:
        entry: The input.
        asked: The range that the user asked for; empty for none.
    """
    whole = entry.dtype is not None and dtype_class(entry.dtype) == "integer"
    if whole or (entry.role == "pixels" and not asked):
        return "0..255"
    return asked or "0..1"


def fill(entry: TensorEntry, layout: ImageLayout, names: tuple[str, ...], scale: str) -> NDArray[Any]:
    """Return an array for an input: each row of the batch shows the next of the pictures.

    Args:
        entry: The input, with its sizes.
        layout: Axes of channels, height and width.
        names: The pictures, the first row's first.
        scale: A key of `SCALES`.
    """
    shape = entry.static_shape()
    size = shape[layout.height], shape[layout.width]
    rows = shape[0] if layout.channels and len(shape) > 3 else 1
    shown = [_channels(_cut(name, *size), shape[layout.channels], scale) for name in names[:rows]]
    made = np.empty(shape, np.float32)
    # The picture's dimensions last, as they lie in `shown`.
    turned = np.moveaxis(made, layout, (-3, -2, -1))
    for row in range(rows):
        (turned[row] if rows > 1 else turned)[...] = shown[row % len(shown)]
    dtype = np.dtype(np.float32) if entry.dtype is None else entry.dtype
    if dtype_class(dtype) == "integer":
        lowest = -128.0 if dtype == np.int8 else 0.0
        made = np.rint(made + lowest)
    return made.astype(dtype)


def _channels(image: NDArray[np.float32], count: int, scale: str) -> NDArray[np.float32]:
    """Return a picture of shape [height, width, 3] as [count, height, width] in another range of values."""
    shift, unit = (np.array(item, np.float32) for item in SCALES[scale])
    if count == 1:
        gray = image @ np.array([0.299, 0.587, 0.114], np.float32)
        return np.asarray((gray - shift.mean()) / unit.mean(), np.float32)[np.newaxis]
    scaled = ((image - shift) / unit).transpose(2, 0, 1)
    return np.asarray(np.resize(scaled, (count, *scaled.shape[1:])), np.float32)


def _cut(name: str, height: int, width: int) -> NDArray[np.float32]:
    """Return the part of a picture that has the proportions asked for, in that size."""
    image = picture(name)
    if name == "page" and height < LINE:
        image = image[:HEADING]
    have, wide = image.shape[:2]
    high, broad = min(have, max(1, round(wide * height / width))), min(wide, max(1, round(have * width / height)))
    top, left = ((have - high) // 2, (wide - broad) // 2) if name != "page" else (0, 0)
    return resized(image[top : top + high, left : left + broad], height, width)


def resized(image: NDArray[Any], height: int, width: int) -> NDArray[np.float32]:
    """Return a picture of shape [height, width, channels] in another size, by linear weights over the pixels it has.

    Args:
        image: The picture.
        height: New height in pixels.
        width: New width in pixels.
    """
    down, across = _weights(image.shape[0], height), _weights(image.shape[1], width)
    rows = np.tensordot(down, image.astype(np.float32), axes=(1, 0))
    return np.ascontiguousarray(np.tensordot(across, rows, axes=(1, 1)).transpose(1, 0, 2), np.float32)


def _weights(have: int, want: int) -> NDArray[np.float32]:
    """Return the weight of each old position in each new one: a triangle as wide as the coarser grid."""
    step = have / want
    places = (np.arange(want) + 0.5) * step - 0.5
    reach = max(step, 1.0)
    weights = np.clip(1.0 - np.abs(np.arange(have) - places[:, np.newaxis]) / reach, 0.0, None)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)
