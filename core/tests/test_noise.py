"""What rounding explains of a tensor, without any backend: clean rounding is, impostors are not."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare.noise import explained, levels_of, scales_of
from polycmp.precision import UNITS

REFERENCE = np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)
ROUNDED = REFERENCE.astype(np.float16).astype(np.float32)


def word_of(candidate) -> str:
    scales = scales_of(REFERENCE)
    noise = levels_of(ROUNDED, REFERENCE, scales)
    return explained(candidate, REFERENCE, noise, scales, UNITS["float16"], "float16").word


def test_rounding_is_explained():
    assert word_of(ROUNDED) == ""


@pytest.mark.parametrize(
    "impostor",
    [np.zeros_like(REFERENCE), -REFERENCE, np.roll(REFERENCE, 1, axis=0), REFERENCE * np.float32(1.1)],
    ids=["zeros", "negated", "another row", "a tenth larger"],
)
def test_impostors_are_not(impostor):
    assert word_of(impostor) != ""
