"""Thresholds: at which figures one decision ends and the next begins, each border from both sides."""

from __future__ import annotations

import pytest
from located_rows import FLOAT32, above

from polycmp.precision import UNITS
from polycmp_locate.rounding import thresholds
from polycmp_locate.rounding.thresholds import worth_running


@pytest.mark.parametrize(
    ("error", "moved", "floor"),
    [
        (2.0**-12, 2.0**-12, 2.0**-12),
        (2.0**-9, 2.0**-12, 2.0**-8 / 2),
        (0.5, 2.0**-12, 2.0**-8),
        (0.5, 0.0, 2.0**-18),
    ],
)
def test_a_reference_counts_as_noise_floor_only_as_far_as_the_condition_allows(error, moved, floor):
    assert thresholds.bounded_floor(error, moved, FLOAT32) == floor


@pytest.mark.parametrize(
    ("steps", "share", "count", "unit", "tie"),
    [
        (1.0, 1 / 15360, 15360, FLOAT32, True),
        (1.0, 2.0**-12, 10**6, FLOAT32, True),
        (1.0, above(2.0**-12), 10**6, FLOAT32, False),
        (1.0, 0.1, 10, FLOAT32, True),
        (2.0, 0.1, 10, FLOAT32, False),
        (1.0, 1 / 3, 100, UNITS["float16"], True),
        (1.0, above(1 / 3), 100, UNITS["float16"], False),
        (4.0, 1 / 3, 100, UNITS["bfloat16"], True),
        (5.0, 1 / 3, 100, UNITS["bfloat16"], False),
    ],
)
def test_ties_of_rounding_in_steps_of_a_scale(steps, share, count, unit, tie):
    assert thresholds.is_tie(steps, share, count, unit) is tie
    assert not thresholds.is_tie(steps, share, count, unit, one_sided=True)


@pytest.mark.parametrize(
    ("up", "down", "shifted"), [(15, 0, False), (16, 0, True), (0, 16, True), (300, 18, True), (300, 20, False)]
)
def test_many_elements_that_all_go_in_one_direction_are_shifted(up, down, shifted):
    assert thresholds.is_one_sided(up, down) is shifted


@pytest.mark.parametrize(
    ("relative", "name"),
    [(2.0**-10, "float16 or TF32"), (above(2.0**-10), "bfloat16"), (2.0**-6, "bfloat16"), (above(2.0**-6), "")],
)
def test_an_error_as_of_a_coarser_type(relative, name):
    assert thresholds.type_like(relative) == name
    assert thresholds.is_beyond_eight_bits(relative) is (name == "")


@pytest.mark.parametrize(
    ("op", "kind", "least"),
    [
        ("Add", "float32[2]", 2.0**-102),
        ("Add", "float16[2]", 2.0**-14),
        ("Add", "bfloat16[2]", 2.0**-102),
        ("Add", "float64[2]", 0.0),
        ("Sigmoid", "float32[2]", 2.0**-4),
        ("Softmax", "float64[2]", 2.0**-6),
    ],
)
def test_the_least_scale_of_an_error(op, kind, least):
    assert thresholds.least_scale(op, kind) == least


@pytest.mark.parametrize(("kind", "steps"), [("float32", 1.0), ("tf32", 1.0), ("float16", 1.0), ("bfloat16", 4.0)])
def test_how_many_steps_a_fused_kernel_may_be_off(kind, steps):
    assert thresholds.step_limit(UNITS[kind]) == steps


@pytest.mark.parametrize(
    ("unit", "error"), [("float64", 2.0**-47), ("float32", 2.0**-18), ("bfloat16", 2.0**-4), ("float8_e5m2", 2.0**-2)]
)
def test_from_which_error_on_an_operator_runs_alone(unit, error):
    assert worth_running(UNITS[unit]) == error
