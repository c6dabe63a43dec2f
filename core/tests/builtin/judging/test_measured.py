"""The default judge: what costs no run, what is measured, and what becomes of whole numbers and NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest
from judges import normal_values

from polycmp._builtin_options import SimpleOptions
from polycmp.builtin.judging.decisions import Decisions
from polycmp.builtin.judging.levels import Values, rounded_levels
from polycmp.builtin.judging.limits import DECISION_SAMPLES
from polycmp.builtin.judging.measured import LOOKS, MeasuredJudge, RoundingSource, beyond_bound, few_roundings, not_seen
from polycmp.builtin.judging.verdict import Floor
from polycmp.compare import Simple
from polycmp.precision import UNITS

Y = normal_values(4, 64)


class Source(RoundingSource):
    """What rounding does: a share of the largest magnitude, to all tensors alike."""

    def __init__(self, share=0.0, *, inner=False, lost=None, network="", varies=True):
        self.share, self.inner, self.where, self.files, self.varies = share, inner, lost, network, varies
        self.looks = []

    def floor(self, output, expected, *, count):
        self.looks.append(count)
        return Floor(rounded_levels(expected, self.share), "float16", "measured on toy")

    def lost(self, output, reference, *, count):
        return self.where

    def decisions(self, output, *, count):
        self.looks.append(count)
        return Decisions(), "float16"

    def is_inner(self, output):
        return self.inner

    def samples_vary(self):
        return self.varies

    def network(self):
        return self.files, "the files hold the same network"

    def advice(self, output, reference):
        return "judge by the task"


def judged(candidate, reference, source, **options):
    return MeasuredJudge(SimpleOptions(**options), source).judge(np.asarray(candidate), np.asarray(reference), "y")


# --- what costs no run


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        (Y, Y.copy()),
        (Y * np.float32(1 + 2**-22), Y),
        (Y[:0], Y[:0]),
        (np.array([1, 2]), np.array([1, 2])),
    ],
)
def test_what_is_equal_or_agrees_to_a_few_roundings_is_not_measured(candidate, reference):
    source = Source()
    assert judged(candidate, reference, source).passed
    assert source.looks == []


def test_a_few_roundings_are_those_of_both_types():
    expected = Values(np.ones(4, np.float32))
    both, half = (few_roundings(np.dtype(kind), expected) for kind in ("float32", "float16"))
    assert both.levels[0].largest == pytest.approx(2 * 4 * UNITS["float32"])
    assert half.levels[0].largest == pytest.approx(4 * UNITS["float32"] + UNITS["float16"])
    assert (both.kind, half.kind) == ("float32", "float16")
    assert half.source == "a few roundings to float16"


@pytest.mark.parametrize(("error", "passed"), [(0.4, True), (0.6, False)])
def test_a_tolerance_that_was_typed_is_final(error, passed):
    source = Source(share=1.0)
    judge = MeasuredJudge(SimpleOptions(atol={"y": 0.5}, rtol={"y": 0.0}), source)
    assert isinstance(judge.of_output("y"), Simple)
    assert judge.of_output("z") is judge
    assert judge.judge(Y + np.float32(error), Y, "y").passed is passed
    assert source.looks == []


# --- what is measured


def test_what_rounding_explains_passes_by_the_first_sample():
    source = Source(share=1e-3)
    verdict = judged(Y + np.float32(1e-3), Y, source)
    assert verdict.passed
    assert source.looks == [LOOKS[0]]
    assert verdict.reason.startswith("rounding explains up to ")
    assert "(measured on toy)" in verdict.reason
    assert verdict.tolerance["atol"] > 1e-3


def test_what_it_does_not_explain_fails_after_all_samples_with_the_worst_element():
    source = Source(share=1e-5)
    wrong = Y.copy()
    wrong[2, 5] += 0.5
    verdict = judged(wrong, Y, source)
    assert (verdict.passed, verdict.inconclusive) == (False, "")
    assert source.looks == list(LOOKS)
    assert "1 of 256 elements is beyond it" in verdict.reason
    assert list(verdict.stats.worst.index) == [2, 5]


@pytest.mark.parametrize(
    ("share", "error", "varies", "looks"),
    [
        (1e-5, 0.5, False, LOOKS[:1]),
        (1e-5, 0.5, True, LOOKS),
        (1e-2, 0.5, False, LOOKS),
        (1e-5, 0.01, False, LOOKS[:1]),
    ],
    ids=["far off", "far off where samples vary", "near the bound", "little of what it varies by"],
)
def test_one_sample_is_enough_for_what_is_far_beyond_it(share, error, varies, looks):
    source = Source(share=share, varies=varies)
    wrong = Y.copy()
    wrong[2, 5] += error
    assert not judged(wrong, Y, source).passed
    assert source.looks == list(looks)


def test_what_rounding_may_explain_and_is_no_small_error_is_left_open():
    verdict = judged(Y + np.float32(0.2), Y, Source(share=0.1))
    assert (verdict.passed, verdict.inconclusive) == (False, "undecided")
    assert verdict.reason.endswith(": judge by the task")
    assert "rounding to float16 alone could move it by" in verdict.reason


def test_inside_a_model_what_rounding_may_explain_passes():
    assert judged(Y + np.float32(0.2), Y, Source(share=0.1, inner=True)).passed


# --- NaN, infinity and whole numbers


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_no_rounding_in_an_output_and_equal_inside(lost):
    holes = Y.copy()
    holes[0, :3] = lost
    assert not judged(holes, holes.copy(), Source(share=1e-3)).passed
    assert judged(holes, holes.copy(), Source(share=1e-3, inner=True)).passed
    assert not judged(holes, Y, Source(share=1e-3, inner=True)).passed


def test_infinities_of_both_signs_differ_inside_too():
    one, other = Y.copy(), Y.copy()
    one[0, 0], other[0, 0] = math.inf, -math.inf
    assert not judged(one, other, Source(share=1e-3, inner=True)).passed


def test_numbers_that_rounding_loses_are_not_judged():
    lost = np.zeros(Y.shape, bool)
    lost[0, :3] = True
    wrong = Y + np.float32(1e-3)
    wrong[lost] = math.inf
    assert judged(wrong, Y, Source(share=1e-3, lost=lost)).passed
    assert not judged(wrong, Y, Source(share=1e-3)).passed


def test_where_rounding_loses_most_of_it_that_is_said():
    lost, wrong = np.ones(Y.shape, bool), np.full_like(Y, math.nan)
    verdict = judged(wrong, Y, Source(share=1e-3, lost=lost))
    assert not verdict.passed
    assert "rounding may make NaN or infinities of most of it (measured)" in verdict.reason
    assert judged(wrong, Y, Source(share=1e-3, lost=lost, inner=True)).passed


@pytest.mark.parametrize(
    ("candidate", "reference"), [(np.array([3, 1, 2]), np.array([3, 2, 1])), (Y, Y[:, :32])], ids=["numbers", "shape"]
)
def test_decisions_that_no_sample_turned_are_differences(candidate, reference):
    source = Source()
    verdict = judged(candidate, reference, source)
    assert (verdict.passed, verdict.inconclusive) == (False, "")
    assert source.looks == [1, DECISION_SAMPLES]


def test_what_a_pass_would_not_have_shown_is_left_out_where_it_is_nothing():
    assert not_seen(0.0) == ""
    assert not_seen(0.021) == "; a fault below 2.1 % of what its values vary by would not show"


@pytest.mark.parametrize(("failed", "verb"), [(1, "is"), (3, "are")])
def test_elements_beyond_the_bound_are_counted_with_their_verb(failed, verb):
    assert beyond_bound(failed, 4, "at [2]") == f"{failed} of 4 elements {verb} beyond it, at [2]"


# --- what changed in kind


def test_signs_of_vectors_are_told_within_what_rounding_explains():
    vectors = np.linalg.qr(np.asarray(Y, np.float32)[:4, :4])[0]
    turned = vectors * np.float32([1, -1, 1, 1]) + np.float32(1e-4)
    said = judged(turned, vectors, Source(1e-3))
    assert not said.passed
    assert "but for the sign of 1 of 4 vectors of length 1 (axis 0) they agree" in said.reason
    assert "sign" not in judged(turned, vectors, Source(1e-6)).reason
