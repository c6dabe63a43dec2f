"""Operators on boxes: non-maximum suppression and pooling of regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_pluginref.registry import register

#: How many of the highest scores TensorRT's EfficientNMS looks at (numSelectedBoxes).
_MOST_CANDIDATES = 4096


@register("EfficientNMS_TRT")
def efficient_nms(
    boxes: Any,
    scores: Any,
    anchors: Any = None,
    *,
    score_threshold: float = 0.5,
    iou_threshold: float = 0.5,
    max_output_boxes: int = 100,
    background_class: int = -1,
    score_activation: int = 0,
    class_agnostic: int = 0,
    box_coding: int = 0,
) -> tuple[Any, Any, Any, Any]:
    """Return the detections that are left after greedy non-maximum suppression.

    Source: TensorRT, plugin/efficientNMSPlugin: README.md, efficientNMSInference.cu and .cuh. A score counts from
    `score_threshold` on; a box falls to a better one of its class (of any, if `class_agnostic`) from `iou_threshold`
    on; scores that tie keep the order of boxes, then classes, which TensorRT leaves open. Overlaps are calculated in
    float32, as in TensorRT, because they decide. Below a threshold of about 0.007 that kernel fills free places with
    rejected scores of -32768; this reference leaves them empty, as the README says.

    Args:
        boxes: [N, B, 4] or [N, B, 1 or C, 4].
        scores: [N, B, C]; logits if `score_activation` is set.
        anchors: [1 or N, B, 4]; with them, boxes are offsets to be decoded.
        score_threshold: Lowest score that counts.
        iou_threshold: Overlap from which a box is dropped.
        max_output_boxes: Number of places for detections.
        background_class: A class to ignore, or -1.
        score_activation: Whether to apply the sigmoid to the scores.
        class_agnostic: Whether boxes of different classes compete.
        box_coding: 0 for two corners, 1 for centre and size.

    Returns:
        Number of detections [N, 1], boxes as corners [N, max, 4], scores [N, max], classes [N, max]; zeros where
        there is no detection.
    """
    corners = _corners(boxes, anchors, box_coding)
    count = np.zeros((len(scores), 1), np.int32)
    kept_boxes = np.zeros((len(scores), max_output_boxes, 4), boxes.dtype)
    kept_scores = np.zeros((len(scores), max_output_boxes), scores.dtype)
    kept_classes = np.zeros((len(scores), max_output_boxes), np.int32)
    for image, logits in enumerate(scores.astype(np.float64)):
        values = 1 / (1 + np.exp(-logits)) if score_activation else logits
        eligible = values >= scores.dtype.type(score_threshold)
        if 0 <= background_class < eligible.shape[1]:
            eligible[:, background_class] = False
        box, label = np.nonzero(eligible)
        best = np.argsort(-logits[box, label], kind="stable")[:_MOST_CANDIDATES]
        box, label = box[best], label[best]
        candidates = corners[image, box, label if corners.shape[2] > 1 else 0]
        groups = np.zeros_like(label) if class_agnostic else label
        kept = _suppress(candidates, groups, iou_threshold, max_output_boxes)
        count[image] = size = len(kept)
        kept_boxes[image, :size] = candidates[kept]
        kept_scores[image, :size] = values[box[kept], label[kept]]
        kept_classes[image, :size] = label[kept]
    return count, kept_boxes, kept_scores, kept_classes


def _corners(boxes: Any, anchors: Any, box_coding: int) -> Any:
    """Return decoded boxes as two corners, float32 [N, B, 1 or C, 4]."""
    boxes = boxes.astype(np.float32)
    boxes = boxes[:, :, None] if boxes.ndim == 3 else boxes
    first, second = boxes[..., :2], boxes[..., 2:]
    if anchors is not None:
        anchors = anchors.astype(np.float32)[:, :, None]
        if box_coding:
            first = first * anchors[..., 2:] + anchors[..., :2]
            second = anchors[..., 2:] * np.exp(second)
        else:
            ordered, base = _ordered(boxes), _ordered(anchors)
            first, second = ordered[..., :2] + base[..., :2], ordered[..., 2:] + base[..., 2:]
    if box_coding:
        first, second = first - second / 2, first + second / 2
    return np.concatenate([first, second], -1)


def _ordered(boxes: Any) -> Any:
    """Return boxes with the smaller coordinates in the first corner."""
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _suppress(boxes: Any, groups: Any, iou_threshold: float, limit: int) -> list[int]:
    """Return indices of the boxes, best first, that no better box of the same group overlaps."""
    boxes = _ordered(boxes)
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    alive = np.ones(len(boxes), bool)
    kept: list[int] = []
    for best in range(len(boxes)):
        if len(kept) == limit:
            break
        if alive[best]:
            kept.append(best)
            rivals = best + 1 + np.flatnonzero(alive[best + 1 :] & (groups[best + 1 :] == groups[best]))
            low = np.maximum(boxes[rivals, :2], boxes[best, :2])
            high = np.minimum(boxes[rivals, 2:], boxes[best, 2:])
            overlap = np.prod(np.maximum(high - low, 0), axis=1)
            union = areas[rivals] + areas[best] - overlap
            iou = np.divide(overlap, union, out=np.zeros_like(overlap), where=(overlap > 0) & (union > 0))
            alive[rivals[iou >= np.float32(iou_threshold)]] = False
    return kept


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
        spatial_scale: What to multiply the regions with.

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
