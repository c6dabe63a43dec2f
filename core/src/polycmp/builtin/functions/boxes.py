"""Boxes: their corners, and which of one list belongs to which of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Matched:
    """Two lists of boxes, matched.

    Attributes:
        overlaps: The intersection over union of each pair, in descending order.
        total: Boxes that should have partners, on both sides together.
        lost: Boxes of the reference without a partner.
    """

    overlaps: Floats
    total: int
    lost: tuple[int, ...]


def corners(boxes: Floats, form: str) -> Floats:
    """Return boxes as left, top, right, bottom.

    Args:
        boxes: Of shape (boxes, 4 or more).
        form: Meaning of the four numbers: two corners (`xyxy`), a corner and the size (`xywh`), or the centre and the
            size (`cxcywh`).
    """
    first, second = boxes[:, :2], boxes[:, 2:4]
    if form == "xyxy":
        return np.concatenate([first, second], axis=1)
    start = first - second / 2 if form == "cxcywh" else first
    return np.concatenate([start, start + second], axis=1)


def match(candidate: Floats, reference: Floats, least: float) -> Matched:
    """Match the boxes of two lists, the largest overlaps first.

    Args:
        candidate: Corners, of shape (boxes, 4).
        reference: Likewise.
        least: The smallest overlap of a pair.
    """
    of_candidate, of_reference = np.flatnonzero(_is_box(candidate)), np.flatnonzero(_is_box(reference))
    overlap = iou(candidate[of_candidate], reference[of_reference])
    pairs: list[float] = []
    partners: set[int] = set()
    order = np.argsort(-overlap, axis=None, kind="stable")
    free = np.ones(overlap.shape, bool)
    for flat in order[: int((overlap >= least).sum())]:
        row, column = divmod(int(flat), overlap.shape[1])
        if free[row, column]:
            pairs.append(float(overlap[row, column]))
            partners.add(column)
            free[row, :] = free[:, column] = False
    lost = tuple(int(of_reference[column]) for column in range(len(of_reference)) if column not in partners)
    return Matched(np.asarray(pairs, np.float64), len(of_candidate) + len(of_reference), lost)


def _is_box(boxes: Floats) -> NDArray[np.bool_]:
    """Return a mask of the boxes that have an area; others, and those with NaN, are padding."""
    with np.errstate(invalid="ignore"):
        valid: NDArray[np.bool_] = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]) & np.isfinite(boxes).all(1)
    return valid


def iou(first: Floats, second: Floats) -> Floats:
    """Return the intersection over union of every pair of boxes, of shape (first, second)."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    common = np.clip(high - low, 0.0, None).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None, :] - common
    overlaps: Floats = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return overlaps
