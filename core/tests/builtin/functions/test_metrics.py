"""Compare functions for what a model is for, against cases whose answer is known by hand or by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.builtin.functions.metric_options import IouMatchOptions, KlDivergenceOptions, TopkAgreementOptions
from polycmp.builtin.functions.metrics import IouMatch, KlDivergence, TopkAgreement
from polycmp.testing import CompareFuncContract


class TestTopkContract(CompareFuncContract):
    capabilities = frozenset({"integer", "bool", "low_bit", "empty", "scalar"})

    def make_compare_func(self):
        return TopkAgreement(TopkAgreementOptions())

    def different(self):
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        return -array, array


class TestKlContract(CompareFuncContract):
    capabilities = frozenset({"integer", "bool", "low_bit", "empty", "scalar"})

    def make_compare_func(self):
        return KlDivergence(KlDivergenceOptions(of="logits"))

    def different(self):
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        return -array, array


def topk(candidate, reference, **options):
    return TopkAgreement(TopkAgreementOptions(**options))(np.asarray(candidate), np.asarray(reference), output="y")


def test_top_1_looks_at_classes_and_not_at_errors():
    assert topk([[1.0, 9.0, 2.0]], [[0.1, 0.3, 0.2]]).passed
    close = topk([[0.30, 0.31]], [[0.31, 0.30]])
    assert not close.passed
    assert "the worst is row 0" in close.reason


def test_top_k_is_a_share_over_all_rows():
    reference = [[5, 4, 3, 2, 1, 0]] * 2
    candidate = [[5, 4, 0, 2, 1, 3], [5, 4, 3, 2, 1, 0]]
    verdict = topk(candidate, reference, k=3, threshold={"": 0.8})
    assert verdict.passed
    assert verdict.metrics == {"agreement": pytest.approx((2 / 3 + 1) / 2), "worst_row": pytest.approx(2 / 3)}
    assert not topk(candidate, reference, k=3).passed


def test_equal_values_have_no_order():
    assert topk([[0.0, 0.5, 0.4]], [[0.5, 0.5, 0.5]]).passed
    assert topk([[3.0, 2.0, 1.0]], [[2.0, 2.0, 9.0]], k=2, threshold={"": 0.5}).passed


def test_nan_agrees_with_nothing():
    assert not topk([[math.nan, 1.0]], [[math.nan, 1.0]]).passed
    assert not topk([[0.0, 1.0]], [[math.nan, 1.0]]).passed


def test_more_entries_than_there_are_is_all_of_them_and_other_axes_count():
    assert topk([[1.0, 2.0]], [[2.0, 1.0]], k=5).passed
    assert topk([[1.0, 0.0], [2.0, 5.0]], [[0.1, 0.2], [0.2, 0.9]], axis=0).passed
    assert "there is no axis 3" in topk([[1.0]], [[1.0]], axis=3).reason


def kl(candidate, reference, **options):
    return KlDivergence(KlDivergenceOptions(**options))(np.asarray(candidate), np.asarray(reference), output="y")


def test_the_divergence_is_that_of_its_definition():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    wanted = sum(x * math.log(x / y) for x, y in zip(p, q, strict=True))
    assert kl([q], [p]).metrics["mean"] == pytest.approx(wanted, rel=1e-12)
    logits = kl([np.log(q) + 7], [np.log(p) - 3], of="logits")
    assert logits.metrics["mean"] == pytest.approx(wanted, rel=1e-9), "a softmax takes no notice of what is added"
    assert kl([p], [p]).metrics == {"mean": 0.0, "max": 0.0}


def test_what_one_side_thinks_impossible():
    assert kl([[0.0, 1.0]], [[0.5, 0.5]]).metrics["mean"] == math.inf
    assert kl([[0.5, 0.5]], [[0.0, 1.0]], threshold={"": 1.0}).metrics["mean"] == pytest.approx(math.log(2))


def test_what_are_no_probabilities_is_said_with_the_way_out():
    verdict = kl([[2.0, 1.0]], [[0.5, 0.5]])
    assert not verdict.passed
    assert "the candidate's rows are no probabilities" in verdict.reason
    assert "--kl-divergence-of logits" in verdict.reason


def test_nan_is_no_distribution_that_agrees():
    assert not kl([[math.nan, 1.0]], [[math.nan, 1.0]]).passed
    assert not kl([[math.nan, 1.0]], [[0.0, 1.0]], of="logits").passed


def test_the_row_that_is_worst_is_named():
    assert "the worst is row 1" in kl([[0.5, 0.5], [0.9, 0.1]], [[0.5, 0.5], [0.1, 0.9]]).reason


BOXES = np.array([[0, 0, 10, 10], [20, 20, 30, 40], [5, 50, 15, 60]], np.float32)


def boxes(candidate, reference, **options):
    return IouMatch(IouMatchOptions(**options))(np.asarray(candidate), np.asarray(reference), output="y")


def test_boxes_match_in_any_order():
    verdict = boxes(BOXES[[2, 0, 1]], BOXES)
    assert verdict.passed
    assert verdict.metrics == {"matched": 1.0, "mean_iou": 1.0, "min_iou": 1.0}


def test_overlap_is_intersection_over_union():
    moved = BOXES[:1] + np.array([1, 0, 1, 0], np.float32)  # 9 x 10 in common, of 110 together
    assert boxes(moved, BOXES[:1], min_iou=0.5).metrics["mean_iou"] == pytest.approx(90 / 110)
    verdict = boxes(moved, BOXES[:1])
    assert not verdict.passed
    assert "box 0 of image 0 has no partner" in verdict.reason


def test_missing_and_additional_boxes_count():
    assert boxes(BOXES[:2], BOXES).metrics["matched"] == pytest.approx(4 / 5)
    assert not boxes(BOXES, BOXES[:2]).passed
    assert boxes(BOXES[:2], BOXES, threshold={"": 0.8}).passed


def test_a_box_has_one_partner():
    assert not boxes(BOXES[[0, 0, 1]], BOXES[[0, 1]]).passed


def test_padding_is_no_box():
    padding = np.zeros((2, 4), np.float32)
    assert boxes(np.concatenate([BOXES, padding]), np.concatenate([padding, BOXES, padding])).passed
    assert boxes(padding, padding).metrics["matched"] == 1.0
    assert not boxes(np.full((1, 4), math.nan), BOXES[:1]).passed


@pytest.mark.parametrize(("form", "row"), [("xywh", [20, 20, 10, 20]), ("cxcywh", [25, 30, 10, 20])])
def test_other_forms_mean_the_same_boxes(form, row):
    other = boxes([row], [row], form=form, min_iou=1.0)
    assert other.passed
    from polycmp.builtin.functions.boxes import corners

    assert corners(np.array([row], np.float64), form).tolist() == [[20, 20, 30, 40]]


def test_images_are_matched_each_for_itself_and_further_columns_are_not_looked_at():
    scores = np.array([[0.5], [0.6], [0.7]], np.float32)
    batch = np.stack([np.concatenate([BOXES, scores], 1), np.concatenate([BOXES[::-1], scores], 1)])
    assert boxes(batch, batch[:, ::-1]).passed
    assert not boxes(batch, np.stack([batch[0], batch[0] + 100])).passed
    assert "images" in boxes(batch, batch[:1]).reason
    assert "shape" in boxes(np.zeros(4), np.zeros(4)).reason
