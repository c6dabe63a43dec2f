"""Non-maximum suppression: the best boxes, without those that overlap a better one."""
# ruff: noqa: N803  (the attributes' names are TensorRT's)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polycmp_pluginref.registry import register

#: Number of the highest scores that TensorRT's EfficientNMS looks at (numSelectedBoxes).
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
        values = np.exp(-np.logaddexp(0, -logits)) if score_activation else logits
        eligible = values >= scores.dtype.type(score_threshold)
        if 0 <= background_class < eligible.shape[1]:
            eligible[:, background_class] = False
        box, label = np.nonzero(eligible)
        best = np.argsort(-logits[box, label], kind="stable")[:_MOST_CANDIDATES]
        box, label = box[best], label[best]
        candidates = corners[image, box, label if corners.shape[2] > 1 else 0]
        groups = np.zeros_like(label) if class_agnostic else label
        indices = _suppress(candidates, groups, lambda iou: iou >= np.float32(iou_threshold), max_output_boxes)
        count[image] = size = len(indices)
        kept_boxes[image, :size] = candidates[indices]
        kept_scores[image, :size] = values[box[indices], label[indices]]
        kept_classes[image, :size] = label[indices]
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


def _suppress(
    boxes: Any, groups: Any, drops: Callable[[Any], Any], limit: int, pixels: tuple[int, int] = (0, 0)
) -> Any:
    """Return indices of the boxes, best first, that no better box of the same group overlaps.

    Args:
        boxes: Corners [B, 4], best first.
        groups: Only boxes of the same group compete [B].
        drops: Says for overlaps (intersection over union) which of them are too large.
        limit: Largest number of indices to return.
        pixels: Numbers added to each side of a box, and of an intersection, where corners are pixels.
    """
    boxes = _ordered(boxes)
    low, high = boxes[:, :2], boxes[:, 2:]
    areas = np.prod(high - low + np.float32(pixels[0]), axis=1)
    alive = np.ones(len(boxes), bool)
    indices: list[int] = []
    for best in range(len(boxes)):
        if len(indices) == limit:
            break
        if alive[best]:
            indices.append(best)
            rivals = best + 1 + np.flatnonzero(alive[best + 1 :] & (groups[best + 1 :] == groups[best]))
            sides = np.minimum(high[rivals], high[best]) - np.maximum(low[rivals], low[best])
            shared = np.prod(sides + np.float32(pixels[1]), axis=1) * (sides >= 0).all(axis=1)
            union = areas[rivals] + areas[best] - shared
            iou = np.divide(shared, union, out=np.zeros_like(shared), where=(shared > 0) & (union > 0))
            alive[rivals[drops(iou)]] = False
    return indices


def _best_of_each_class(values: Any, most: int) -> tuple[Any, Any]:
    """Return boxes and classes of the finite values among the largest of each class, the largest of all first."""
    box = np.argsort(-values, axis=1, kind="stable")[:, :most].reshape(-1)
    label = np.repeat(np.arange(len(values)), len(box) // len(values))
    best = np.argsort(-values[label, box], kind="stable")
    best = best[values[label, box][best] > -np.inf]
    return box[best], label[best]


@register("BatchedNMSDynamic_TRT")
@register("BatchedNMS_TRT")
def batched_nms(
    boxes: Any,
    scores: Any,
    *,
    shareLocation: int,
    backgroundLabelId: int,
    numClasses: int,
    topK: int,
    keepTopK: int,
    scoreThreshold: float,
    iouThreshold: float,
    isNormalized: int = 1,
    clipBoxes: int = 1,
    scoreBits: int = 16,
    caffeSemantics: int = 1,
) -> tuple[Any, Any, Any, Any]:
    """Return the detections that are left after greedy non-maximum suppression within each class.

    Source: TensorRT, plugin/batchedNMSPlugin: README.md, batchedNMSInference.cu and gatherNMSOutputs.cu, with
    sortScoresPerClass.cu and allClassNMS.cu of plugin/common/kernels. A score counts above `scoreThreshold`; of each
    class the best `topK` compete; a box falls to a better one above `iouThreshold`. Overlaps are calculated in
    float32, as in TensorRT, because they decide. `scoreBits` only coarsens TensorRT's sorting of float16.

    Args:
        boxes: Corners [N, B, 1 or C, 4].
        scores: [N, B, C].
        shareLocation: Whether all classes share a box; the shape of `boxes` says the same.
        backgroundLabelId: A class to ignore, or -1.
        numClasses: C.
        topK: Number of boxes of each class to look at.
        keepTopK: Number of places for detections.
        scoreThreshold: Score to exceed.
        iouThreshold: Overlap to exceed.
        isNormalized: If not set, corners are pixels and the side of a box from 3 to 5 is 3.
        clipBoxes: Whether to clip the resulting boxes to 0…1.
        scoreBits: Has no meaning here.
        caffeSemantics: Whether sides of intersections count pixels too if `isNormalized` is not set.

    Returns:
        Number of detections [N, 1], boxes [N, keepTopK, 4], scores [N, keepTopK], classes [N, keepTopK] in the type
        of the boxes; zeros, and class -1, where there is no detection.
    """
    count = np.zeros((len(scores), 1), np.int32)
    kept_boxes = np.zeros((len(scores), keepTopK, 4), boxes.dtype)
    kept_scores = np.zeros((len(scores), keepTopK), scores.dtype)
    kept_classes = np.full((len(scores), keepTopK), -1, boxes.dtype)
    pixels = (0, 0) if isNormalized else (1, int(bool(caffeSemantics)))
    for image, by_class in enumerate(scores.swapaxes(1, 2)):
        values = np.where(by_class.astype(np.float32) > np.float32(scoreThreshold), by_class, -np.inf)
        if 0 <= backgroundLabelId < numClasses:
            values[backgroundLabelId] = -np.inf
        box, label = _best_of_each_class(values, topK)
        candidates = boxes[image, box, 0 if shareLocation else label]
        indices = _suppress(
            candidates.astype(np.float32), label, lambda iou: iou > np.float32(iouThreshold), keepTopK, pixels
        )
        count[image] = size = len(indices)
        kept_boxes[image, :size] = np.clip(candidates[indices], 0, 1) if clipBoxes else candidates[indices]
        kept_scores[image, :size] = values[label[indices], box[indices]]
        kept_classes[image, :size] = label[indices]
    return count, kept_boxes, kept_scores, kept_classes
