"""`locate`: from which error on it looks closely, and when what was seen inside is no evidence; borders, both sides.

The numbers are written out instead of being taken from the code, so that a changed constant fails here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.precision import UNITS
from polycmp_locate.rounding.difference import coarser, distance, relative_to
from polycmp_locate.rounding.perturbing import one_ulp_apart
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.trials.probe import check_probe


def above(value):
    return math.nextafter(value, math.inf)


# --- the error from which on an operator is looked at


@pytest.mark.parametrize(
    ("unit", "error"), [("float64", 2.0**-47), ("float32", 2.0**-18), ("bfloat16", 2.0**-4), ("float8_e5m2", 2.0**-2)]
)
def test_from_which_error_on_an_operator_runs_alone(unit, error):
    assert worth_running(UNITS[unit]) == error


# --- whether looking inside changed the result


def probed(plain, seen, reference, passes=lambda outputs: False):
    arrays = [{"y": np.asarray([value], np.float64)} for value in (plain, seen, reference)]
    return check_probe(*arrays, passes)


@pytest.mark.parametrize(
    ("seen", "trusted"),
    [
        (1.5, True),
        (1.5 + 0.125, True),
        (above(1.5 + 0.125), False),
        (1.5 - 0.125, True),
        (0.0, False),
        (math.nan, False),
    ],
)
def test_probes_may_move_a_wrong_result_by_a_quarter_of_its_error(seen, trusted):
    found = probed(1.5, seen, 1.0)
    assert found.error == 0.5
    assert found.trusted is trusted


def test_probes_may_not_move_a_result_without_an_error():
    assert not probed(1.0, above(1.0), 1.0).trusted


@pytest.mark.parametrize(
    ("plain_passes", "probed_passes", "trusted", "says"),
    [
        (True, True, True, "too little to change the verdict"),
        (True, False, False, "of another computation"),
        (False, True, False, "the fault is gone when one looks inside"),
        (False, False, False, "of another computation"),
    ],
)
def test_a_result_that_probes_move_by_more(plain_passes, probed_passes, trusted, says):
    found = probed(1.5, 3.0, 1.0, lambda outputs: plain_passes if outputs["y"][0] == 1.5 else probed_passes)
    assert (found.plain_passed, found.probed_passed, found.trusted) == (plain_passes, probed_passes, trusted)
    assert (found.moved, found.relative) == (1.5, 1.5)  # held against the reference, as the error is
    assert says in found.sentence


def test_a_verdict_that_probes_change_is_no_evidence_however_little_they_move():
    found = probed(1.5, 1.5 + 2**-20, 1.0, lambda outputs: outputs["y"][0] == 1.5)
    assert not found.trusted


def test_probes_that_move_nothing_are_said_to():
    found = probed(1.5, 1.5, 1.0)
    assert (found.moved, found.relative, found.sentence) == (
        0.0, 0.0, "probing did not move the candidate's final outputs",
    )  # fmt: skip


def test_outputs_that_were_not_seen_do_not_count_as_moved():
    found = check_probe({"y": np.ones(2), "z": np.ones(2)}, {"y": np.ones(2)}, {"y": np.ones(2)}, lambda _: True)
    assert found.trusted
    assert found.moved == 0.0


# --- how errors are measured


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.5, 2.0], [1.0, -4.0], 1.5),
        ([0.0], [0.0], 0.0),
        ([1.0], [0.0], math.inf),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.inf, 1.0], [math.inf, 1.0], 0.0),
        ([math.inf, 1.0], [-math.inf, 1.0], math.inf),
        ([math.nan, 1.0], [1.0, 1.0], math.inf),
        ([1.0, 1.0], [1.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_distance_is_the_largest_difference_over_the_largest_magnitude_of_the_second(one, two, expected):
    assert distance(np.array(one), np.array(two)) == expected


def test_distance_looks_at_every_piece_of_a_large_tensor():
    one, two = np.zeros(200_000, np.float32), np.zeros(200_000, np.float32)
    one[199_999], two[5] = 1, 4
    assert distance(one, two) == 1.0  # 4 in the first piece, 1 in the last one
    two[5] = one[5] = 8
    assert distance(one, two) == 0.125


@pytest.mark.parametrize(("error", "scale", "expected"), [(0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (1.0, 4.0, 0.25)])
def test_an_error_relative_to_a_scale(error, scale, expected):
    assert relative_to(error, scale) == expected


@pytest.mark.parametrize(
    ("of_type", "allowed", "unit"), [(2.0**-24, 0, 2.0**-24), (2.0**-24, 2.0**-11, 2.0**-11), (0, 2.0**-11, 0)]
)
def test_types_that_hold_exact_numbers_are_not_rounded_whatever_is_allowed(of_type, allowed, unit):
    assert coarser(of_type, allowed) == unit


def test_nudging_moves_every_real_number_by_one_unit_up_and_down_in_turn():
    x = np.array([[1, 1], [np.inf, -2]], np.float32)
    moved = one_ulp_apart({"x": x, "k": np.array([3])})
    step = np.float32(2) ** -23
    assert moved["x"].tolist() == [[1 + step, 1 - step / 2], [np.inf, -2 - 2 * step]]
    assert moved["k"].tolist() == [3]
    assert x[0, 0] == 1
