"""Outputs of two versions of a model, as a program has them."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def old():
    rng = np.random.default_rng(0)
    return {"logits": rng.normal(size=(4, 10)).astype(np.float32), "label": np.array([3, 1, 4, 1])}


@pytest.fixture
def new(old):
    return {**old, "logits": old["logits"] + np.float32(1e-3)}
