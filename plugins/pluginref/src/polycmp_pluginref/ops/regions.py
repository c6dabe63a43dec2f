"""Operators that interpolate in feature maps: pooling of regions, attention to points, deformed convolution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from polycmp_pluginref.registry import register


@register("ROIAlign_TRT")
def roi_align(
    x: Any,
    rois: Any,
    batch_indices: Any,
    *,
    coordinate_transformation_mode: int = 1,
    mode: int = 1,
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Any:
    """Return regions pooled to one size by averaging, or taking the maximum of, interpolated samples.

    Source: TensorRT, plugin/roiAlignPlugin: README.md and roiAlignKernel.cu. The maximum is taken over the four
    weighted neighbours of a sample, before they are added. Sampling points are float32, as in TensorRT, because they
    decide which neighbours count. An empty region gives zeros, as in ONNX Runtime; that kernel divides 0 by 0.

    Args:
        x: Features [N, C, H, W].
        rois: Corners x1, y1, x2, y2 of the regions [R, 4].
        batch_indices: The instance that each region lies in [R].
        coordinate_transformation_mode: 1 to shift coordinates by half a pixel, 0 not to (regions are then at least
            1 × 1).
        mode: 1 for the average, 0 for the maximum.
        output_height: Rows of the result.
        output_width: Columns of the result.
        sampling_ratio: Samples per bin in each direction; 0 takes the bin's size, rounded up.
        spatial_scale: Factor that the regions are multiplied with.

    Returns:
        [R, C, output_height, output_width].
    """
    scaled = rois.astype(np.float32) * np.float32(spatial_scale) - np.float32(0.5 * coordinate_transformation_mode)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width))
    for index, (left, top, right, bottom) in enumerate(scaled):
        height, width = bottom - top, right - left
        if not coordinate_transformation_mode:
            height, width = max(height, np.float32(1)), max(width, np.float32(1))
        rows = _sample_points(top, height, output_height, sampling_ratio)
        columns = _sample_points(left, width, output_width, sampling_ratio)
        if rows.size and columns.size:
            features = x[int(batch_indices[index])].astype(np.float64)
            neighbours = _weighted_neighbours(features, rows.reshape(-1), columns.reshape(-1))
            samples = neighbours.sum(0) if mode else neighbours.max(0)
            bins = samples.reshape(-1, *rows.shape, *columns.shape)
            result[index] = bins.mean((2, 4)) if mode else bins.max((2, 4))
    return result.astype(x.dtype)


def _sample_points(start: Any, length: Any, bins: int, sampling_ratio: int) -> Any:
    """Return float32 coordinates [bins, samples per bin]."""
    size = np.float32(length / np.float32(bins))
    count = sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(size)), 0)
    steps = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * (size / np.float32(max(count, 1)))
    return start + np.arange(bins, dtype=np.float32)[:, None] * size + steps


def _weighted_neighbours(features: Any, rows: Any, columns: Any) -> Any:
    """Return the four neighbours of each sample times their bilinear weights, [4, C, rows, columns]."""
    (top, bottom, down), (left, right, across) = (
        _neighbours(points, size) for points, size in zip((rows, columns), features.shape[1:], strict=True)
    )
    return np.stack(
        [
            features[:, row][:, :, column] * (row_weight[:, None] * column_weight)
            for row, row_weight in ((top, down[0]), (bottom, down[1]))
            for column, column_weight in ((left, across[0]), (right, across[1]))
        ]
    )


def _neighbours(points: Any, size: int) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return the lower and upper neighbour of each point and their weights, zero for points outside."""
    inside = (points >= -1) & (points <= size)
    points = np.clip(points, 0, size - 1)
    lower = points.astype(np.int64)
    upper = np.minimum(lower + 1, size - 1)
    share = (points - lower).astype(np.float64)
    return lower, upper, ((1 - share) * inside, share * inside)


@register("MultiscaleDeformableAttnPlugin_TRT")
def deformable_attention(value: Any, shapes: Any, starts: Any, locations: Any, weights: Any) -> Any:
    """Return sums of interpolated features at a few points of several maps, each times its attention weight.

    Source: TensorRT, plugin/multiscaleDeformableAttnPlugin: README.md and multiscaleDeformableIm2ColCuda.cuh. A
    location x of a map W wide means its column W x - ½; outside of a map there are zeros.

    Args:
        value: The maps, flattened, one after another [N, S, M, D].
        shapes: Height and width of each map [L, 2].
        starts: Index in S at which each map begins [L].
        locations: x and y from 0 to 1 [N, Q, M, L, P, 2].
        weights: [N, Q, M, L, P].

    Returns:
        [N, Q, M, D].
    """
    image = np.arange(len(value))[:, None, None, None]
    head = np.arange(value.shape[2])[:, None]
    result = np.zeros((len(value), locations.shape[1], *value.shape[2:]))
    for level, ((height, width), start) in enumerate(zip(shapes.tolist(), starts.tolist(), strict=True)):
        features = value[:, start : start + height * width].reshape(len(value), height, width, *value.shape[2:])
        x, y = (locations[:, :, :, level].astype(np.float64) * (width, height) - 0.5).transpose(4, 0, 1, 2, 3)
        for row, column, share in _corners(y, x, height, width):
            near = features[image, row, column, head] * share[..., None]
            result += (near * weights[:, :, :, level, :, None]).sum(axis=3)
    return result.astype(value.dtype)


@register("ModulatedDeformConv2d")
def deformable_convolution(
    x: Any,
    offset: Any,
    mask: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    group: int = 1,
    deformable_group: int = 1,
) -> Any:
    """Return a convolution that reads each element `offset` away from its place, times `mask`; zeros lie outside.

    Source: TensorRT, plugin/modulatedDeformConvPlugin: README.md and modulatedDeformConvPluginKernel.cu, after
    Deformable ConvNets v2 (arXiv 1811.11168). That plugin takes pairs as width, height, exporters mean height, width:
    pairs of two different numbers are refused.

    Args:
        x: [N, C, H, W].
        offset: Rows and columns in turn [N, 2 G K, H', W'], for G deformable groups and K elements of the kernel.
        mask: [N, G K, H', W'].
        weight: [O, C / group, rows, columns].
        bias: [O].
        stride: Steps between places of the kernel.
        padding: Rows and columns of zeros that the kernel reaches over the edge.
        dilation: Steps between elements of the kernel.
        group: Number of groups of channels that are convolved separately.
        deformable_group: Number of groups of channels with offsets and masks of their own.

    Returns:
        [N, O, H', W'].
    """
    for pair in (stride, padding, dilation):
        if len(set(pair)) != 1:
            raise ValueError(f"ModulatedDeformConv2d: which of {list(pair)} is the width depends on the exporter")
    n, _, height, width = x.shape
    rows, columns = mask.shape[2:]
    kernel: Any = np.indices(weight.shape[2:]).reshape(2, -1) * dilation[0] - padding[0]
    shifts = offset.astype(np.float64).reshape(n, deformable_group, -1, 2, rows, columns)
    row = shifts[:, :, :, 0] + kernel[0][:, None, None] + (np.arange(rows) * stride[0])[:, None]
    column = shifts[:, :, :, 1] + kernel[1][:, None, None] + np.arange(columns) * stride[0]
    masks = mask.reshape(row.shape)
    features = x.astype(np.float64).reshape(n, deformable_group, -1, height, width).transpose(0, 1, 3, 4, 2)
    image, part = np.indices((n, deformable_group))[..., None, None, None]
    samples = sum(
        features[image, part, low, left] * (share * masks)[..., None]
        for low, left, share in _corners(row, column, height, width)
    )
    patches = np.moveaxis(samples, -1, 2).reshape(n, group, -1, rows * columns)
    result = (weight.reshape(group, -1, patches.shape[2]) @ patches).reshape(n, -1, rows, columns)
    return (result if bias is None else result + bias[:, None, None]).astype(x.dtype)


def _corners(y: Any, x: Any, height: int, width: int) -> Iterator[tuple[Any, Any, Any]]:
    """Yield row, column and bilinear weight of the four neighbours of points; the weight is 0 outside of the map."""
    for down, right in itertools.product((0, 1), repeat=2):
        row, column = np.floor(y).astype(np.int64) + down, np.floor(x).astype(np.int64) + right
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        share = (1 - abs(y - row)) * (1 - abs(x - column)) * inside
        yield row.clip(0, height - 1), column.clip(0, width - 1), share
