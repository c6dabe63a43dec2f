"""Boxes as detectors give them out, read by what their shapes tell."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only

from polycmp.errors import DataError, UsageError
from polycmp_decide.tasks.decoders import Boxes, decode, overlaps


def test_areas_that_boxes_share():
    one = np.array([[0.0, 0, 2, 2]])
    assert overlaps(one, np.array([[1.0, 1, 3, 3], [0, 0, 2, 2], [5, 5, 6, 6]])).tolist() == [[1 / 7, 1, 0]]


CORNERS = [0.25, 0.25, 0.75, 0.5]


def grids():
    """Return what YOLOX gives for pictures of 128 by 128: grids of 16, 8 and 4 cells, a box in the last of them."""
    array = np.zeros((1, 16 * 16 + 8 * 8 + 4 * 4, 7))
    array[0, 256 + 64 + 4 + 2] = [0, 0.5, np.log(2), 0, 1, 0, 0.9]  # column 2 and row 1, of 32 pixels each
    return only(array)


@pytest.mark.parametrize(
    ("decoder", "outputs"),
    [
        ("yolov8", only(np.pad([[[64.0], [48], [64], [32], [0], [0.9]]], [(0, 0), (0, 0), (0, 9)]))),
        ("yolov5", only(np.pad([[[64.0, 48, 64, 32, 1, 0, 0.9]]], [(0, 0), (0, 9), (0, 0)]))),
        ("yolox", grids()),
        ("end2end", only([[[32.0, 32, 96, 64, 0.9, 1]]])),
        ("detr", {"logits": np.array([[[-50.0, np.log(9), 0]]]), "boxes": np.array([[[0.5, 0.375, 0.5, 0.25]]])}),
        ("rtdetr", {"boxes": np.array([[[0.5, 0.375, 0.5, 0.25]]]), "logits": np.array([[[-50.0, np.log(9)]]])}),
        ("torchvision", {"boxes": np.array([[32.0, 32, 96, 64]]), "labels": np.array([1]), "scores": np.array([0.9])}),
        (
            "ssd",
            {
                "detection_boxes": np.array([[[0.25, 0.25, 0.5, 0.75]]]),
                "detection_classes": np.array([[1.0]]),
                "detection_scores": np.array([[0.9]]),
                "num_detections": np.array([1.0]),
            },
        ),
    ],
)
def test_boxes_are_read_from_the_outputs_of_detectors(decoder, outputs):
    [boxes] = decode(outputs, {"x": np.zeros((1, 3, 128, 128))}, decoder)
    best = int(boxes.scores.argmax())
    assert boxes.corners[best] == pytest.approx(CORNERS)
    assert boxes.scores[best] == pytest.approx(0.9)
    assert boxes.classes[best] == 1


def test_the_decoder_is_known_by_shapes_only_where_they_tell():
    [boxes] = decode(only(np.zeros((1, 6, 50))), {}, "")
    assert len(boxes.scores) == 0
    [boxes] = decode(only(np.zeros((1, 3 * 336, 7))), {"x": np.zeros((1, 3, 128, 128))}, "")  # three boxes a cell
    assert len(boxes.scores) == 0
    with pytest.raises(UsageError, match="yolov5 or yolox"):
        decode(grids(), {"x": np.zeros((1, 3, 128, 128))}, "")
    queries = {"logits": np.zeros((1, 5, 3)), "boxes": np.zeros((1, 5, 4))}
    with pytest.raises(UsageError, match="detr or rtdetr"):
        decode(queries, {}, "")
    with pytest.raises(DataError, match="no decoder reads"):
        decode(only(np.zeros((1, 6))), {}, "")
    with pytest.raises(DataError, match="reads other outputs"):
        decode(queries, {}, "yolov8")


def test_of_boxes_that_overlap_the_first_of_a_class_stays():
    near = np.array([[0, 0, 1, 1.0], [0.01, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0.5, 0.5]])
    best = Boxes(near, np.array([0.8, 0.9, 0.7, 0.6]), np.array([0, 0, 1, 0])).best()
    assert best.scores.tolist() == [0.9, 0.7, 0.6]
