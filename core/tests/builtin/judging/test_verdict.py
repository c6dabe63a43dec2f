"""The one judge, without any backend: error, bound and spread of a tensor, and the word that follows."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.builtin.judging.levels import Level, level_between, sampled_levels
from polycmp.builtin.judging.masks import beside_masks
from polycmp.builtin.judging.verdict import Floor, is_ruined, judge
from polycmp.compare import scales_of

REFERENCE = np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)
ROUNDED = REFERENCE.astype(np.float16).astype(np.float32)


def floor(levels, kind: str = "float16", reference=REFERENCE) -> Floor:
    return Floor(tuple(levels), scales_of(reference), kind)


def noise_between(one, two) -> list[Level]:
    scales = scales_of(two)
    pairs = zip(scales.parts(one), scales.parts(two), strict=True)
    return [level_between(*pair) for pair in pairs]


def word_of(candidate) -> str:
    return judge(candidate, REFERENCE, floor(noise_between(ROUNDED, REFERENCE))).word


def test_rounding_passes():
    assert word_of(ROUNDED) == "passed"


@pytest.mark.parametrize(
    "impostor",
    [np.zeros_like(REFERENCE), -REFERENCE, np.roll(REFERENCE, 1, axis=0), REFERENCE * np.float32(1.1)],
    ids=["zeros", "negated", "another row", "a tenth larger"],
)
def test_impostors_fail(impostor):
    assert word_of(impostor) == "failed"


@pytest.mark.parametrize(("times", "word"), [(1, "passed"), (5, "passed"), (7.9, "passed"), (8.1, "failed")])
def test_the_bound_that_is_given_is_the_one_that_decides(times, word):
    candidate = REFERENCE + np.float32(times) * (ROUNDED - REFERENCE)
    found = judge(candidate, REFERENCE, floor(noise_between(ROUNDED, REFERENCE), "float32"))
    assert found.word == word
    assert (found.error <= found.bound) is (word == "passed")


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("share", "word"), [(0.01, "passed"), (0.04, "passed"), (0.2, "undecided"), (0.45, "undecided"), (0.6, "failed")]
)
def test_what_rounding_explains_is_judged_by_what_values_vary_by(kind, share, word):
    error = np.random.default_rng(2).standard_normal(REFERENCE.shape)
    error *= share * REFERENCE.std() / np.sqrt(np.mean(error**2))
    error = np.clip(error, -2 * share, 2 * share).astype(np.float32)
    found = judge(REFERENCE + error, REFERENCE, floor([Level(10.0, 10.0)], kind))
    assert found.word == word, found
    if word == "failed":
        assert "more than half of what its values vary by" in found.why


def test_a_larger_bound_never_turns_a_pass_into_anything_else():
    order = ["failed", "undecided", "passed"]
    for share in (1e-4, 1e-2, 0.1, 0.3, 0.7):
        candidate = REFERENCE * np.float32(1 + share)
        words = [judge(candidate, REFERENCE, floor([Level(n, n)])).word for n in (1e-6, 1e-4, 1e-2, 1.0, 100.0)]
        assert [order.index(word) for word in words] == sorted(order.index(word) for word in words)


def test_the_resolution_is_the_largest_fault_that_need_not_show():
    found = judge(REFERENCE, REFERENCE, floor([Level(0.001, 0.001)], "float32"))
    reach, deviation = float(np.ptp(REFERENCE)), float(REFERENCE.astype(np.float64).std())
    assert found.resolution == pytest.approx(max(0.008 / reach, 0.008 / deviation), rel=1e-5)


def test_a_dead_classifier_fails_whatever_explains_it():
    probabilities = np.random.default_rng(1).dirichlet(np.full(50, 0.1), 20).astype(np.float32)
    assert judge(np.zeros_like(probabilities), probabilities, floor([Level(10.0, 10.0)], "int8")).word == "failed"
    assert is_ruined(np.zeros_like(probabilities), probabilities)
    assert not is_ruined(probabilities * np.float32(1.2), probabilities)


#: What GELU makes of erf: 1 + erf of channels that are far below 0, beside others.
SATURATED = np.concatenate([REFERENCE[:2] * 1e-5, 1 + np.tanh(REFERENCE[2:])]).astype(np.float32)
STEP = 2 / 255


@pytest.mark.parametrize(
    ("channels", "fails"), [(slice(0, 2), False), (slice(2, 8), True)], ids=["saturated", "others"]
)
def test_numbers_that_vary_by_less_than_a_step_may_all_be_rounded_in_one_direction(channels, fails):
    random, scales = np.random.default_rng(1), scales_of(SATURATED)
    moved = [SATURATED + random.uniform(-STEP / 2, STEP / 2, SATURATED.shape).astype(np.float32) for _ in range(4)]
    noise = sampled_levels(SATURATED, moved, scales)
    shifted = SATURATED.copy()
    shifted[channels] += np.float32(6 * STEP if fails else 0.45 * STEP)
    found = judge(shifted, SATURATED, floor(noise, "int8", SATURATED), is_inner=True)
    assert scales.count == 2
    assert (found.word == "failed") is fails, found


@pytest.mark.parametrize("mask", [-1e4, -65504.0, -3.4028235e38, -np.inf])
@pytest.mark.parametrize("other", [-1e4, -np.inf])
def test_one_definition_of_a_number_that_only_masks_others(mask, other):
    one, two = REFERENCE.copy(), REFERENCE.copy()
    one[:, 50:], two[:, 50:] = mask, other
    keep = beside_masks(one, two)
    assert keep is not None
    assert keep[:, :50].all()
    assert not keep[:, 50:].any()


def test_large_numbers_beside_others_of_their_size_mask_nothing():
    assert beside_masks(REFERENCE * 1e4, REFERENCE * 1e4) is None
    assert beside_masks(REFERENCE, REFERENCE) is None
