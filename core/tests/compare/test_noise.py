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


@pytest.mark.parametrize("times, word", [(1, ""), (1.8, ""), (2.5, "undecided"), (5, "undecided"), (10, "fault")])
def test_what_is_a_few_times_the_noise_may_be_rounding_or_a_small_fault(times, word):
    assert word_of(REFERENCE + np.float32(times) * (ROUNDED - REFERENCE)) == word


@pytest.mark.parametrize("every, word", [(2, "undecided"), (400, "")])
def test_codes_that_ties_move_by_a_step_explain_few_numbers_that_are_off_and_not_all(every, word):
    """A recurrent operator of OpenVINO's was off by 0.6 % of the range in all numbers, and within rounding."""
    off = np.zeros_like(REFERENCE)
    off.reshape(-1)[::every] = 0.008
    scales = scales_of(REFERENCE)
    noise = levels_of(REFERENCE + 4 * off, REFERENCE, scales)
    said = explained(REFERENCE + off, REFERENCE, noise, scales, UNITS["float32"], "float32", flips=True)
    assert said.word == word, said.why


@pytest.mark.parametrize("kind, word", [("float32", "undecided"), ("float16", "")])
@pytest.mark.parametrize("share, small", [(2e-2, False), (1e-4, True)])
def test_noise_that_a_model_amplifies_explains_less_in_a_finer_type(kind, word, share, small):
    """A hundredth of what an output varies by is rounding in float16; in float32 14 bits of it were lost."""
    error = np.random.default_rng(2).uniform(-share, share, REFERENCE.shape).astype(np.float32)
    scales = scales_of(REFERENCE)
    noise = levels_of(REFERENCE + error, REFERENCE, scales)
    said = explained(REFERENCE + error, REFERENCE, noise, scales, unit_of(kind), kind)
    assert said.word == ("" if small else word), said


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


@pytest.mark.parametrize("sigmas, word", [(6.0, ""), (40.0, "fault")])
def test_few_numbers_keep_a_factor_by_chance(sigmas, word):
    random = np.random.default_rng(2)
    few = random.standard_normal(48).astype(np.float32)
    size = float(np.sqrt(np.sum(few.astype(np.float64) ** 2)))

    def errors():
        """Return errors that happen to have nothing in common with the numbers."""
        made = 0.1 * random.standard_normal(48)
        return made - few * np.dot(made, few) / size**2

    scales = scales_of(few)
    noise = sampled_levels(few, [few + errors() for _ in range(4)], scales)
    candidate = few * (1 + sigmas * 0.1 / size) + errors()
    said = explained(candidate, few, noise, scales, unit_of("int8"), "int8")
    assert said.word == word or (word == "" and said.word == "undecided"), said
