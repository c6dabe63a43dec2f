"""Boxes: corners, overlaps, and partners."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.builtin.functions.boxes import corners, iou, match

BOX = np.array([[20.0, 20, 30, 40]])


@pytest.mark.parametrize(
    ("form", "row"), [("xyxy", [20, 20, 30, 40]), ("xywh", [20, 20, 10, 20]), ("cxcywh", [25, 30, 10, 20])]
)
def test_corners_are_those_of_any_form_and_further_columns_are_left_out(form, row):
    assert corners(np.array([[*row, 0.9, 7]], float), form).tolist() == BOX.tolist()


@pytest.mark.parametrize(
    ("other", "overlap"),
    [
        ([20, 20, 30, 40], 1.0),
        ([20, 20, 30, 30], 0.5),
        ([25, 20, 35, 40], 1 / 3),
        ([30, 20, 40, 40], 0.0),  # they only touch
        ([0, 0, 1, 1], 0.0),
        ([20, 20, 20, 40], 0.0),
    ],
)
def test_the_overlap_is_intersection_over_union(other, overlap):
    assert iou(BOX, np.array([other], float))[0, 0] == pytest.approx(overlap)


def test_the_largest_overlaps_find_each_other_first_and_each_box_once():
    reference = np.array([[0.0, 0, 10, 10], [0, 0, 10, 8], [50, 50, 60, 60]])
    found = match(np.array([[0.0, 0, 10, 8.5], [0, 0, 10, 10]]), reference, 0.5)
    assert found.overlaps.tolist() == pytest.approx([1.0, 8 / 8.5])
    assert (found.total, found.lost) == (5, (2,))
    assert match(reference[:1], reference[1:2], 0.9).overlaps.tolist() == []


@pytest.mark.parametrize(
    "padding", [[0, 0, 0, 0], [-1, -1, -1, -1], [5, 5, 4, 6], [0, 0, math.nan, 1], [0, 0, math.inf, 1]]
)
def test_rows_without_an_area_are_padding(padding):
    found = match(np.concatenate([BOX, [padding]]), np.concatenate([[padding], BOX]), 0.5)
    assert (found.overlaps.tolist(), found.total, found.lost) == ([1.0], 2, ())
    assert match(np.array([padding], float), np.array([padding], float), 0.5).total == 0
