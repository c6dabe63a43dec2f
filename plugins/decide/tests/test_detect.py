"""Precision of boxes, beside pycocotools."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from polycmp_decide.coco import Picture
from polycmp_decide.tasks import TaskOptions, make_task
from polycmp_decide.tasks.decoders import Boxes


def scene(seed, pictures=12, classes=3):
    """Return what is in pictures, and two detectors' boxes, the second of which is less exact."""
    rng = np.random.default_rng(seed)
    truths, sides = [], ([], [])
    for _ in range(pictures):
        number = int(rng.integers(0, 5))
        start = rng.uniform(0, 0.6, (number, 2))
        corners = np.concatenate([start, start + rng.uniform(0.05, 0.4, (number, 2))], 1)
        kinds = rng.integers(0, classes, number)
        crowds = rng.random(number) < 0.15
        truths.append(
            Picture(corners, tuple(f"class {kind}" for kind in kinds), tuple(int(kind) for kind in kinds), crowds)
        )
        for side, spread in zip(sides, (0.01, 0.05), strict=True):
            extra = rng.uniform(0, 0.5, (3, 2))
            boxes = np.concatenate([corners, np.concatenate([extra, extra + 0.3], 1)])
            boxes = boxes + rng.normal(0, spread, boxes.shape)
            boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 0.01)
            found = np.concatenate([np.where(rng.random(number) < 0.9, kinds, 0), rng.integers(0, classes, 3)])
            side.append(Boxes(boxes, rng.random(len(boxes)), found))
    return truths, sides


def as_coco(truths, boxes, size=1000.0):
    """Return both in COCO's form, in pictures of 1000 by 1000."""
    widths = [
        (at, corners, kind, crowd)
        for at, item in enumerate(truths)
        for corners, kind, crowd in zip(item.corners, item.places, item.crowds, strict=True)
    ]
    annotations = [
        {
            "id": number + 1, "image_id": at + 1, "category_id": kind + 1, "iscrowd": int(crowd),
            "bbox": [*(corners[:2] * size), *((corners[2:] - corners[:2]) * size)],
            "area": float(np.prod((corners[2:] - corners[:2]) * size)),
        }
        for number, (at, corners, kind, crowd) in enumerate(widths)
    ]  # fmt: skip
    found = [
        {
            "image_id": at + 1, "category_id": int(kind) + 1, "score": float(score),
            "bbox": [*(corners[:2] * size), *((corners[2:] - corners[:2]) * size)],
        }
        for at, item in enumerate(boxes)
        for corners, score, kind in zip(item.corners, item.scores, item.classes, strict=True)
    ]  # fmt: skip
    images = [{"id": at + 1, "file_name": f"{at}.png", "width": size, "height": size} for at in range(len(truths))]
    categories = [{"id": number + 1, "name": f"class {number}"} for number in range(3)]
    return {"images": images, "annotations": annotations, "categories": categories}, found


@pytest.mark.parametrize("seed", range(6))
def test_precision_is_that_of_coco(seed):
    library = pytest.importorskip("faster_coco_eval")
    truths, (exact, loose) = scene(seed)
    task = make_task("detect", TaskOptions())
    found = task.scores(loose, exact, [task.truth(item) for item in truths])
    for mine, boxes in zip(found.totals, (loose, exact), strict=True):
        labels, predicted = as_coco(truths, boxes)
        with contextlib.redirect_stdout(io.StringIO()):
            known = library.COCO(labels)
            evaluation = library.COCOeval_faster(known, known.loadRes(predicted), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        assert mine == pytest.approx(evaluation.stats[0], abs=1e-9)
    assert found.totals[0] < found.totals[1]


def test_a_picture_twice_counts_twice():
    truths, (exact, loose) = scene(1)
    task = make_task("detect", TaskOptions())
    right = [task.truth(item) for item in truths]
    twice = task.scores([*loose, loose[2]], [*exact, exact[2]], [*right, right[2]])
    once = task.scores(loose, exact, right)
    places = np.append(np.arange(len(truths)), 2)
    assert once.total(places) == pytest.approx(twice.totals[0], abs=1e-12)
