"""The one judge, without any backend: error, bound and spread of a tensor, and the word that follows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from ml_dtypes import bfloat16

from polycmp.builtin.judging.levels import Level, Values, level_between, sampled_levels
from polycmp.builtin.judging.masks import beside_masks
from polycmp.builtin.judging.measured import few_roundings
from polycmp.builtin.judging.verdict import Comparison, Floor, judge
from polycmp.compare import scales_of

REFERENCE = np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)
ROUNDED = REFERENCE.astype(np.float16).astype(np.float32)


def floor(levels, kind: str = "float16") -> Floor:
    return Floor(tuple(levels), kind)


def noise_between(one, two) -> list[Level]:
    scales = scales_of(two)
    pairs = zip(scales.parts(one), scales.parts(two), strict=True)
    return [level_between(*pair)[0] for pair in pairs]


def word_of(candidate) -> str:
    return judge(Comparison(candidate, Values(REFERENCE)), floor(noise_between(ROUNDED, REFERENCE))).word


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
    found = judge(Comparison(candidate, Values(REFERENCE)), floor(noise_between(ROUNDED, REFERENCE), "float32"))
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
    found = judge(Comparison(REFERENCE + error, Values(REFERENCE)), floor([Level(10.0, 10.0)], kind))
    assert found.word == word, found
    if word == "failed":
        assert "more than half of what its values vary by" in found.why


def test_a_larger_bound_never_turns_a_pass_into_anything_else():
    order = ["failed", "undecided", "passed"]
    for share in (1e-4, 1e-2, 0.1, 0.3, 0.7):
        compared = Comparison(REFERENCE * np.float32(1 + share), Values(REFERENCE))
        words = [judge(compared, floor([Level(n, n)])).word for n in (1e-6, 1e-4, 1e-2, 1.0, 100.0)]
        assert [order.index(word) for word in words] == sorted(order.index(word) for word in words)


def test_the_resolution_is_the_largest_fault_that_need_not_show():
    found = judge(Comparison(REFERENCE, Values(REFERENCE)), floor([Level(0.001, 0.001)], "float32"))
    reach, deviation = float(np.ptp(REFERENCE)), float(REFERENCE.astype(np.float64).std())
    assert found.resolution == pytest.approx(max(0.008 / reach, 0.008 / deviation), rel=1e-5)


def test_a_dead_classifier_fails_whatever_explains_it():
    probabilities = np.random.default_rng(1).dirichlet(np.full(50, 0.1), 20).astype(np.float32)
    compared = Comparison(np.zeros_like(probabilities), Values(probabilities))
    assert judge(compared, floor([Level(10.0, 10.0)], "int8")).word == "failed"


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
    found = judge(Comparison(shifted, Values(SATURATED)), floor(noise, "int8"), is_inner=True)
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


@pytest.mark.parametrize(
    ("mask", "second", "beside"),
    [
        (-9e3, 1.0, True),
        (-8999.0, 1.0, False),  # too small to mask
        (-(2.0**14), 70.0, True),
        (-(2.0**14), 71.0, False),  # not far below what masks
    ],
)
def test_from_where_on_a_number_masks_others(mask, second, beside):
    values = np.array([mask, second])
    found = beside_masks(values, values)
    assert (None if found is None else found.tolist()) == ([False, True] if beside else None)


@pytest.mark.parametrize(
    ("one", "other", "is_mask"),
    [
        (np.float32(-3.4028235e38), np.float32(-np.inf), True),
        (np.float32(-3.4028235e38), np.float16(-1e4), True),
        (np.float32(-3.4028235e38), bfloat16(-1e4), True),
        (np.float64(-1.7976931348623157e308), np.float32(-np.inf), True),
        (np.float32(-9500.0), np.float32(-9600.0), False),
        (np.float32(-1e4), np.float32(-2e4), False),
    ],
)
def test_beside_zeros_only_numbers_that_tools_write_as_masks_are_some(one, other, is_mask):
    """The bias that attention adds is 0 or a mask; what is 0 or large without being one is judged."""
    reference, candidate = np.array([0.0, one], one.dtype), np.array([0.0, other], other.dtype)
    found = beside_masks(candidate, reference)
    assert (None if found is None else found.tolist()) == ([True, False] if is_mask else None)


def test_large_numbers_beside_others_of_their_size_mask_nothing():
    assert beside_masks(REFERENCE * 1e4, REFERENCE * 1e4) is None
    assert beside_masks(REFERENCE, REFERENCE) is None


@pytest.mark.parametrize(("size", "word"), [(8e-40, "passed"), (1e-37, "failed")])
def test_numbers_below_the_smallest_normal_one_may_be_flushed_to_0(size, word):
    """A sigmoid of -90 in float32 beside float64: what is below 1.2e-38 has no digits to judge."""
    reference = np.full(4, size)
    float64 = Level(1e-300, 1e-300)
    floor = Floor((Level(size, size),), scales_of(reference), "float32", finest=(float64,))
    assert judge(Comparison(np.zeros(4), Values(reference)), floor).word == word


def test_a_large_tensor_takes_no_copies_of_it():
    reference = np.random.default_rng(4).standard_normal((1 << 11, 1 << 11)).astype(np.float32)
    moved = [reference * np.float32(1 + 1e-6) for _ in range(2)]
    tracemalloc.start()
    try:
        expected = Values(reference)
        levels = sampled_levels(reference, moved, expected.scales)
        assert judge(Comparison(moved[0], expected), floor(levels, "float32")).word == "passed"
        assert tracemalloc.get_traced_memory()[1] < reference.nbytes
    finally:
        tracemalloc.stop()


def detections() -> np.ndarray:
    """Return what a detector makes in one output: four rows of boxes, up to 640, beside eighty of scores."""
    random = np.random.default_rng(3)
    boxes, scores = random.uniform(0, 640, (1, 4, 50)), random.uniform(0, 1, (1, 80, 50))
    return np.concatenate([boxes, scores], axis=1).astype(np.float32)


@pytest.mark.parametrize(("rows", "error", "word"), [(slice(0, 4), 1e-4, "passed"), (slice(4, 84), 1e-4, "failed")])
def test_scores_beside_boxes_are_judged_by_what_scores_round(rows, error, word):
    """An error that rounding makes of boxes is a fault in scores, and no fault in boxes because scores round less."""
    reference = detections()
    candidate = reference.copy()
    candidate[:, rows] += np.float32(error)
    expected = Values(reference)
    assert judge(Comparison(candidate, expected), few_roundings(candidate.dtype, expected)).word == word


@pytest.mark.parametrize(
    ("share", "network", "word"),
    [
        (0.1, "", "undecided"),
        (0.1, "same", "passed"),
        (0.3, "same", "passed"),  # one more sample of the noise, and no larger than twice the others
        (0.45, "same", "undecided"),
        (0.6, "same", "failed"),  # of no use, whatever explains it
        (0.1, "other", "failed"),
        (0.01, "other", "passed"),  # the outputs do not show it
        (0.0, "same", "passed"),
    ],
)
def test_two_files_decide_what_rounding_may_explain(share, network, word):
    error = np.random.default_rng(2).uniform(-1, 1, REFERENCE.shape)
    error *= share * REFERENCE.std() / np.sqrt(np.mean(error**2))
    deviation = float(REFERENCE.astype(np.float64).std())
    noise = Level(0.4 * deviation, 0.2 * deviation)
    found = judge(
        Comparison((REFERENCE + error).astype(np.float32), Values(REFERENCE)), floor([noise], "int8"), network=network
    )
    assert found.word == word, found
    if word == "passed":
        assert found.error <= found.bound
    if (share, network) == (0.1, "same"):
        assert found.bound == 2 * (noise.rms if found.on_average else noise.largest)
        assert found.resolution == pytest.approx(0.4, rel=1e-3)


@pytest.mark.parametrize(("network", "word"), [("", "passed"), ("same", "passed"), ("other", "failed")])
@pytest.mark.parametrize(("times", "is_seen"), [(0.5, False), (4.0, True)])
def test_another_network_fails_from_the_noise_itself_on(network, word, times, is_seen):
    noise = noise_between(ROUNDED, REFERENCE)
    candidate = REFERENCE + np.float32(times) * (ROUNDED - REFERENCE)
    found = judge(Comparison(candidate, Values(REFERENCE)), floor(noise), network=network)
    assert found.word == (word if is_seen else "passed")
    assert (found.error <= found.bound) is (found.word == "passed")


def test_scores_that_a_coarse_type_makes_one_number_each_are_not_dead():
    """Most scores of a detector are nearly 1, where float16 has no other number."""
    random = np.random.default_rng(0)
    scores = (1 - random.random((1, 8, 50)) * 2e-4).astype(np.float32)
    scores[:, :2] = random.random((1, 2, 50))
    expected = Values(scores)
    noise = floor(noise_between(scores.astype(np.float16), scores))
    assert judge(Comparison(scores.astype(np.float16), expected), noise).word == "passed"


def test_a_channel_that_lies_below_the_noise_of_the_others_is_not_judged_by_itself():
    random = np.random.default_rng(0)
    reference = random.standard_normal((1, 64, 100)).astype(np.float32)
    reference[:, 7] *= 1e-3
    candidate = reference + (random.standard_normal(reference.shape) * 2e-3).astype(np.float32)
    found = judge(Comparison(candidate, Values(reference)), floor(noise_between(candidate, reference), "int8"))
    assert found.word == "passed"
