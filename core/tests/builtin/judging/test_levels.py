"""Sizes of errors and of noise, block by block, beside NumPy over the whole tensor."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.judging import levels
from polycmp.builtin.judging.levels import (
    Level,
    Values,
    cuts,
    extent_of,
    finite_places,
    level_between,
    magnitudes,
    perturbed_inputs,
    rounded_levels,
    sampled_levels,
)
from polycmp.builtin.judging.limits import SAMPLES
from polycmp.compare import scales_of
from polycmp.precision import operator_rounding, unit_of

RANDOM = np.random.default_rng(0)
SHAPES = [(), (7,), (3, 50), (50, 3), (4, 5, 6)]


@pytest.fixture(params=[8, 1 << 18], ids=["many blocks", "one block"], autouse=True)
def block(request, monkeypatch):
    monkeypatch.setattr(levels, "BLOCK", request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_cover_a_tensor_once(shape):
    seen = np.zeros(shape, int)
    for cut, _ in cuts(shape):
        seen[cut] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_distance_is_that_of_the_whole_tensor(shape, dtype):
    a, b = (np.asarray(4 * RANDOM.standard_normal(shape)).astype(dtype) for _ in "ab")
    errors = np.abs(a.astype(float) - b.astype(float))
    level, lost = level_between(a, b)
    assert (level.largest, lost) == (errors.max(), False)
    assert level.rms == pytest.approx(math.sqrt((errors**2).mean()))


def test_numbers_that_are_not_finite_count_as_no_error_and_those_that_get_lost_are_told():
    a, b = np.float32([1, np.nan, 3, np.inf]), np.float32([1, 2, np.nan, np.inf])
    assert level_between(a, b) == (Level(0.0, 0.0), True)
    assert level_between(b, a)[1] is True
    assert level_between(np.float32([np.inf]), np.float32([np.inf]))[1] is False
    assert finite_places(a).tolist() == [True, False, True, False]
    assert magnitudes(-a).tolist() == [1, 0, 3, 0]


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_numbers_vary_within_each_slice_by_itself(axis):
    part = RANDOM.standard_normal((6, 20)) + (0 if axis is None else np.arange(6)[:, None] * 100 * (axis == 0))
    extent = extent_of(part, axis)
    others = None if axis is None else 1 - axis
    assert extent.largest == np.abs(part).max()
    assert extent.rms == pytest.approx(math.sqrt((part**2).mean()))
    assert extent.reach == pytest.approx(np.ptp(part, axis=others).max())
    assert extent.deviation == pytest.approx(math.sqrt(part.var(axis=others).mean()))


def test_a_tensor_of_one_value_varies_by_that_value_and_an_empty_one_has_no_size():
    assert extent_of(np.full(4, -3.0), None) == (3.0, 3.0, 3.0, 3.0)
    assert extent_of(np.zeros((0, 2)), None) == (0.0, 0.0, 0.0, 0.0)
    assert extent_of(np.array([3 + 4j]), None).largest == 5.0


def test_values_are_judged_without_those_of_a_mask():
    values = Values(np.float32([1, -1e9, 3]))
    kept = values.without(np.array([False, True, False]))
    assert (kept.array.tolist(), kept.largest) == ([1, 3], 3.0)
    assert kept.without(np.array([True, False, False])).array.tolist() == [3]
    assert kept.kept(np.float32([4, 5, 6])).tolist() == [4, 6]
    assert rounded_levels(kept, 0.5)[0].largest == 1.5


def test_samples_that_are_not_taken_yet_count_as_equal():
    exact = np.zeros(4)
    [level] = sampled_levels(exact, [exact + 2], scales_of(exact))
    assert (level.largest, level.rms) == (2.0, pytest.approx(2 / math.sqrt(SAMPLES)))
    assert sampled_levels(exact, [], scales_of(exact)) is None
    assert sampled_levels(exact, [exact[:3]], scales_of(exact)) is None
    assert sampled_levels(exact, [exact * np.nan], scales_of(exact)) is None


@pytest.mark.parametrize(
    ("kinds", "all_types", "share"),
    [
        ({}, False, 0.0),
        ({"": "float32"}, False, 0.0),  # no coarser than it is
        ({"": "float16"}, False, operator_rounding(unit_of("float16"))),
        ({"x": "float16"}, False, operator_rounding(unit_of("float16"))),
        ({"z": "float16"}, False, 0.0),
        ({}, True, operator_rounding(unit_of("float32"))),
    ],
)
def test_inputs_move_by_at_most_one_rounding(kinds, all_types, share):
    x, whole = RANDOM.standard_normal(1000).astype(np.float32), np.arange(3)
    moved = perturbed_inputs({"x": x, "n": whole}, kinds, 1, all_types=all_types)
    apart = np.abs(moved["x"] - x)
    assert moved["n"] is whole
    assert bool(apart.any()) is bool(share)
    assert (apart <= (share + 2 * unit_of("float32")) * np.abs(x)).all()  # the sum is rounded, too
    assert moved["x"].dtype == x.dtype
    again = perturbed_inputs({"x": x, "n": whole}, kinds, 1, all_types=all_types)
    assert np.array_equal(again["x"], moved["x"])


def test_steps_move_by_half_of_their_width():
    x = RANDOM.uniform(-1, 1, 1000).astype(np.float32)
    apart = np.abs(perturbed_inputs({"x": x}, {"x": 0.5}, 1)["x"] - x)
    assert 0.2 < apart.max() <= 0.2501
