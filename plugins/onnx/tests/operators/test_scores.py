"""Transforms of the scores of learnt models, and the score of a second class."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from operator_cases import f, sigmoid

from polycmp_onnx.operators.scores import labels_of, real_type, transformed, with_second_class


@pytest.mark.parametrize(
    ("transform", "scores", "right"),
    [
        ("NONE", [[1, -2]], [[1, -2]]),
        ("LOGISTIC", [[0, 2, -200]], [[0.5, sigmoid(2), 0]]),
        ("SOFTMAX", [[1000, 1000], [0, np.log(3)]], [[0.5, 0.5], [0.25, 0.75]]),
        ("SOFTMAX_ZERO", [[0, np.log(2), np.log(6)]], [[0, 0.25, 0.75]]),
        ("SOFTMAX_ZERO", [[0, 0]], [[0.5, 0.5]]),
    ],
)
def test_scores_are_transformed(transform, scores, right):
    np.testing.assert_allclose(transformed(f(scores), transform), right, rtol=1e-6, atol=1e-7)


def test_probit_is_the_inverse_of_the_normal_distribution():
    shares = [0.1, 0.25, 0.5, 0.9]
    right = [NormalDist().inv_cdf(share) for share in shares]
    np.testing.assert_allclose(transformed(np.array([shares]), "PROBIT")[0], right, atol=5e-3)


@pytest.mark.parametrize(
    ("transform", "is_share", "right"),
    [
        ("NONE", True, [[0.25, 0.75]]),
        ("NONE", False, [[-0.75, 0.75]]),
        ("SOFTMAX", True, [[0.25, 0.75]]),
        ("LOGISTIC", True, [[sigmoid(-0.75), sigmoid(0.75)]]),
        ("PROBIT", True, [[NormalDist().inv_cdf(0.25), NormalDist().inv_cdf(0.75)]]),
    ],
)
def test_one_score_makes_two_classes(transform, is_share, right):
    np.testing.assert_allclose(with_second_class(f([[0.75]]), transform, is_share=is_share), right, atol=5e-3)


def test_labels_and_types_are_those_of_the_model_and_its_data():
    assert labels_of([1, 0], ["a", "b"]).tolist() == ["b", "a"]
    assert labels_of([1, 1], [5, 6]).dtype == np.int64
    assert [real_type(np.zeros(1, kind)) for kind in (np.float64, np.float16, np.int64)] == [
        np.float64, np.float32, np.float32,
    ]  # fmt: skip
