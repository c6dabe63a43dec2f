"""Vectors of length 1 that have another sign: eigenvectors and singular vectors have none of their own."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.compare.signs import describe_signs

VECTORS = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 4, 4)))[0].astype(np.float32)
TURNED = np.float32([1, -1, 1, -1])


@pytest.mark.parametrize(
    ("candidate", "reference", "words"),
    [
        (VECTORS * TURNED, VECTORS, "of 4 of 8 vectors of length 1 (axis 1) they agree"),
        (VECTORS[0] * TURNED + np.float32(1e-6), VECTORS[0], "of 2 of 4 vectors of length 1 (axis 0)"),
        (VECTORS[0, :, :2].T * TURNED[:2, None], VECTORS[0, :, :2].T, "of 1 of 2 vectors of length 1 (axis 1)"),
        ((VECTORS * TURNED).astype(ml_dtypes.bfloat16), VECTORS.astype(ml_dtypes.bfloat16), "of 4 of 8 vectors"),
    ],
    ids=["batch", "rounded", "rows", "bfloat16"],
)
def test_vectors_of_length_1_agree_but_for_their_sign(candidate, reference, words):
    assert words in describe_signs(candidate, reference, 1e-5)


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        (VECTORS, VECTORS),
        (VECTORS * TURNED + np.float32(1e-3), VECTORS),  # off by more than that, too
        (3 * VECTORS * TURNED, 3 * VECTORS),  # a channel that was negated, for all that is known
        (np.abs(VECTORS), VECTORS),  # other signs inside a vector
        (VECTORS[:, :, ::-1], VECTORS),  # in another order
        (np.full((2, 2), np.nan, np.float32), VECTORS[0, :2, :2]),
        (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
        (np.eye(2, dtype=np.int64), -np.eye(2, dtype=np.int64)),
        (-VECTORS[0, 0], VECTORS[0, 0]),
    ],
    ids=["equal", "off", "long", "inside", "order", "nan", "empty", "whole", "one"],
)
def test_of_nothing_else_it_is_said(candidate, reference):
    assert describe_signs(np.asarray(candidate), reference, 1e-5) == ""
