"""What rounding explains of a tensor, without any backend: clean rounding is, impostors are not."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare.noise import explained, levels_of, sampled_levels, scales_of
from polycmp.precision import UNITS, unit_of

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


#: What GELU makes of erf: 1 + erf of channels that are far below 0, beside others.
SATURATED = np.concatenate([REFERENCE[:2] * 1e-5, 1 + np.tanh(REFERENCE[2:])]).astype(np.float32)
STEP = 2 / 255


@pytest.mark.parametrize("channels, word", [(slice(0, 2), ""), (slice(2, 8), "fault")], ids=["saturated", "others"])
def test_numbers_that_vary_by_less_than_a_step_may_all_be_rounded_in_one_direction(channels, word):
    random, scales = np.random.default_rng(1), scales_of(SATURATED)
    moved = [SATURATED + random.uniform(-STEP / 2, STEP / 2, SATURATED.shape).astype(np.float32) for _ in range(4)]
    noise = sampled_levels(SATURATED, moved, scales)
    shifted = SATURATED.copy()
    shifted[channels] += np.float32(0.45 * STEP if word == "" else 6 * STEP)
    said = explained(shifted, SATURATED, noise, scales, unit_of("int8"), "int8")
    assert scales.count == 2
    assert (said.word == "fault") == (word == "fault"), said
