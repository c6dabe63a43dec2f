"""GridSample, AffineGrid and MaxRoiPool, by ONNX's specification and what it refers to."""
# ruff: noqa: N801

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators.resizing import cubic_far, cubic_near

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
#: Coefficient of the cubic kernel, as PyTorch has it, to which the specification refers.
_A = -0.75


class GridSample_16(OpRun):  # type: ignore[misc]
    """GridSample; ONNX's reflects and clips the position of a cubic kernel, not of its elements, and is of float32."""

    def _run(
        self, x: Any, grid: Any, *, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0
    ) -> tuple[Any]:
        rank = x.ndim - 2
        wide = np.promote_types(grid.dtype, np.float32)
        taps = [
            _taps(grid[..., rank - 1 - at].astype(wide), x.shape[2 + at], _MODES.get(mode, mode), padding_mode,
                  bool(align_corners))
            for at in range(rank)
        ]  # fmt: skip
        batch = np.arange(x.shape[0]).reshape(-1, *(1,) * rank)
        result: Any = 0
        for chosen in itertools.product(*taps):
            places = (batch, *(place for place, _ in chosen))
            values = np.moveaxis(x, 1, -1)[places]
            weight = math.prod((item for _, item in chosen), start=np.ones((1,), wide))
            result = result + np.where(weight[..., None] == 0, 0, values * weight[..., None])
        return (np.moveaxis(result, -1, 1).astype(x.dtype),)


def _taps(at: Any, size: int, mode: str, padding: str, is_aligned: bool) -> list[tuple[Any, Any]]:
    """Return places along an axis, and the weight of each.

    Args:
        at: Positions from -1 to 1.
        size: Length of the axis.
        mode: `nearest`, `linear` or `cubic`.
        padding: What lies outside.
        is_aligned: Whether -1 and 1 are the centres of the elements at the ends.
    """
    place = (at + 1) / 2 * (size - 1) if is_aligned else ((at + 1) * size - 1) / 2
    low, high = (0.0, size - 1.0) if is_aligned else (-0.5, size - 0.5)
    if mode == "cubic":
        left = np.floor(place)
        share = place - left
        weights = [cubic_far(share + 1, _A), cubic_near(share, _A), cubic_near(1 - share, _A), cubic_far(2 - share, _A)]
        return [_inside(left + step, size, padding, low, high, weights[step + 1]) for step in (-1, 0, 1, 2)]
    if padding == "reflection":
        place = _reflected(place, low, high)
    if padding != "zeros":
        place = place.clip(0, size - 1)
    if mode == "nearest":
        return [_inside(np.rint(place), size, padding, low, high, np.ones_like(place))]
    left = np.floor(place)
    return [_inside(left + step, size, padding, low, high, 1 - np.abs(place - left - step)) for step in (0, 1)]


def _inside(place: Any, size: int, padding: str, low: float, high: float, weight: Any) -> tuple[Any, Any]:
    """Return places that are in the axis; the weight of what is not there is 0."""
    if padding == "reflection":
        place = _reflected(place, low, high)
    if padding == "zeros":
        weight = np.where((place >= 0) & (place <= size - 1), weight, 0)
    return np.nan_to_num(place).clip(0, size - 1).astype(np.int64), weight


def _reflected(place: Any, low: float, high: float) -> Any:
    if high == low:
        return np.zeros_like(place)
    distance = np.abs(place - low)
    turns, rest = np.divmod(distance, high - low)
    return np.where(turns % 2 == 0, low + rest, high - rest)


class AffineGrid_20(OpRun):  # type: ignore[misc]
    """AffineGrid; ONNX's calculates in float32, and takes one element for the end of its axis, not the middle."""

    def _run(self, theta: Any, size: Any, *, align_corners: int = 0) -> tuple[Any]:
        lengths = [int(length) for length in size[2:]]
        axes = []
        for length in lengths:
            whole = np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
            axes.append(whole if align_corners else whole * (length - 1) / length)
        places = [item.astype(theta.dtype) for item in np.meshgrid(*axes, indexing="ij")]
        points = np.stack([*reversed(places), np.ones(lengths, theta.dtype)], axis=-1)
        return (np.einsum("nij,...j->n...i", theta, points).astype(theta.dtype),)


class MaxRoiPool_1(OpRun):  # type: ignore[misc]
    """MaxRoiPool, which ONNX lacks; corners are rounded, and a region is at least one element long."""

    def _run(self, x: Any, rois: Any, *, pooled_shape: Any, spatial_scale: float = 1.0) -> tuple[Any]:
        result = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
        for number, (batch, *corners) in enumerate(rois.tolist()):
            left, top, right, bottom = (math.floor(corner * spatial_scale + 0.5) for corner in corners)
            rows = list(_parts(top, bottom, pooled_shape[0], x.shape[2]))
            columns = list(_parts(left, right, pooled_shape[1], x.shape[3]))
            for (row, down), (column, across) in itertools.product(enumerate(rows), enumerate(columns)):
                part = x[int(batch), :, down, across]
                if part.size:
                    result[number, :, row, column] = part.max(axis=(1, 2))
        return (result,)


def _parts(first: int, last: int, count: int, size: int) -> Any:
    length = max(last - first + 1, 1) / count
    for at in range(count):
        start, stop = first + math.floor(at * length), first + math.ceil((at + 1) * length)
        yield slice(min(max(start, 0), size), min(max(stop, 0), size))
