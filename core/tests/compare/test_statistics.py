"""Figures of two arrays: NaN and infinity, division by 0, numbers whose difference overflows, blocks and threads."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.compare.blocks import Pair
from polycmp.compare.statistics import (
    Limits,
    Sums,
    count_beyond,
    differences,
    errors_with_nan,
    gather,
    mean_of,
    sorted_errors,
    summarise,
)

NAN, INF = math.nan, math.inf


def figures(candidate, reference, limits=None, **more):
    pair, limits = Pair(np.asarray(candidate), np.asarray(reference)), limits or Limits(0.1, 0.1)
    return summarise(pair, gather(pair, limits, **more), limits)


@pytest.mark.parametrize("counted", [False, True])
def test_nan_and_infinities_are_counted_by_side_and_fail(counted):
    stats = figures([1.0, 2.0, NAN, INF], [1.0, 2.5, 1.0, INF], counted=counted)
    assert (stats.count, stats.failed) == (4, 3)
    assert (stats.nan_candidate, stats.nan_reference, stats.nan_mismatched, stats.nan_failed) == (1, 0, 1, 1)
    assert (stats.inf_matched, stats.inf_forgiven) == (1, 0)
    assert (stats.max_abs, stats.required_abs) == (INF, INF)
    assert list(stats.worst.index) == [2]  # no error is worse than NaN


def test_nan_and_infinities_may_be_equal():
    forgiving = Limits(0.1, 0.1, equal_nan=True, equal_inf=True)
    stats = figures([NAN, INF, -INF], [NAN, INF, INF], forgiving)
    assert (stats.failed, stats.nan_failed, stats.nan_mismatched) == (1, 0, 0)
    assert (stats.inf_matched, stats.inf_forgiven) == (1, 1)
    assert list(stats.worst.index) == [2]
    stats = figures([NAN, 1.0], [NAN, 1.0], forgiving)
    assert (stats.failed, stats.max_abs, stats.required_abs) == (0, 0.0, 0.0)


def test_an_element_fails_by_both_tolerances_or_not_at_all():
    limits = Limits(0.1, 0.1)
    assert figures([1.05, 0.05, 100.0], [1.0, 0.0, 95.0], limits).failed == 0
    assert figures([1.2], [1.0], limits).failed == 1


def test_division_by_zero_is_nothing_for_nothing_and_infinite_for_anything():
    stats = figures([0.0, 1.0], [0.0, 0.0])
    assert (stats.max_abs, stats.max_rel, stats.failed) == (1.0, INF, 1)
    assert figures([0.0, 2.0], [0.0, 1.0]).max_rel == 1.0


def test_a_difference_beyond_float64_has_its_relative_error():
    stats = figures([1.7e308], [-1.7e308])
    assert (stats.max_abs, stats.max_rel) == (INF, 2.0)


def test_the_worst_is_the_first_of_the_largest_in_any_order_of_threads():
    def sums(excess, worst, largest, at):
        return Sums(failed=1, excess=excess, worst=worst, max_abs=largest, largest_at=at)

    for one, two in ((sums(2.0, 7, 5.0, 7), sums(2.0, 3, 5.0, 3)), (sums(2.0, 3, 5.0, 3), sums(2.0, 7, 5.0, 7))):
        one.merge(two)
        assert (one.failed, one.excess, one.worst, one.max_abs, one.largest_at) == (2, 2.0, 3, 5.0, 3)


def test_many_blocks_in_threads_give_what_numpy_gives():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=300_000).astype(np.float32)
    candidate = reference + rng.normal(scale=1e-3, size=reference.size).astype(np.float32)
    errors = np.abs(candidate.astype(np.float64) - reference.astype(np.float64))
    stats = figures(candidate, reference, Limits(1e-3, 0.0))
    assert stats.failed == np.count_nonzero(errors > 1e-3)
    assert stats.max_abs == errors.max()
    assert list(stats.worst.index) == [errors.argmax()]
    assert stats.mean_abs == pytest.approx(errors.mean(), rel=1e-9)
    assert stats.scale == np.abs(reference).max()


def test_equal_arrays_have_a_scale_and_no_error():
    array = np.arange(-5.0, 3.0)
    assert (figures(array, array.copy()).max_abs, figures(array, array.copy()).scale) == (0.0, 5.0)


def test_a_mean_of_tiny_errors_is_not_rounded_to_none():
    assert mean_of(5e-324, 3) == 5e-324
    assert mean_of(0.0, 3) == 0.0
    assert mean_of(6.0, 3) == 2.0


def test_whole_numbers_are_told_from_others():
    assert differences(np.array([1, 2]), np.array([1, 4])).whole
    assert not differences(np.array([1, 2]), np.array([1.0, 4.0])).whole


def test_elements_beyond_an_absolute_tolerance_are_counted_and_equal_nan_are_not():
    assert count_beyond(np.array([NAN, INF, 1.0, 2.0]), np.array([NAN, INF, 1.05, 2.5]), 0.1) == 1


def test_errors_are_sorted_with_nan_last():
    pair, limits = Pair(np.array([3.0, NAN, 1.0]), np.array([1.0, 1.0, 1.5])), Limits(0.0, 0.0)
    absolute, relative = sorted_errors(pair, limits)
    assert absolute.tolist() == [0.5, 2.0, INF]
    assert relative.tolist() == [pytest.approx(1 / 3), 2.0, INF]
    block = np.array([3.0, NAN, 1.0]), np.array([1.0, 1.0, 1.5])
    assert errors_with_nan(pair, limits, relative=False)()(*block).tolist() == [2.0, INF, 0.5]
    assert errors_with_nan(pair, limits, relative=True)()(*block).tolist() == [2.0, INF, pytest.approx(1 / 3)]
