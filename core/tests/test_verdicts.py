"""Verdicts with figures, as programs of the field read them."""

from __future__ import annotations

import pytest

from polycmp._verdicts import DetailedVerdict, ErrorStats


@pytest.mark.parametrize(
    ("largest", "scale", "share"), [(0.5, 2.0, 0.25), (0.0, 0.0, 0.0), (0.5, 0.0, None), (0.0, 2.0, 0.0)]
)
def test_an_error_is_a_share_of_the_largest_magnitude(largest, scale, share):
    assert ErrorStats(max_abs=largest, scale=scale).share == share


def test_a_verdict_equals_the_truth_value_that_it_says_and_another_with_the_same_content():
    passed, failed = DetailedVerdict(True), DetailedVerdict(False, "too far", {"l2": 0.5})
    assert passed == True  # noqa: E712 - as programs write it
    assert failed == False  # noqa: E712
    assert passed != failed
    assert failed == DetailedVerdict(False, "too far", {"l2": 0.5})
    assert failed != DetailedVerdict(False, "too far", {"l2": 0.25})
    assert passed != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(passed)


def test_figures_have_the_names_of_the_field_and_none_where_nobody_computed_them():
    verdict = DetailedVerdict(True, metrics={"max_abs": 0.5, "cosine_similarity": 1.0, "l2": 2.0})
    assert (verdict.max_absdiff, verdict.cosine_similarity, verdict.l2_norm) == (0.5, 1.0, 2.0)
    assert (verdict.mean_absdiff, verdict.psnr) == (None, None)
