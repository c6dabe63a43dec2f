"""`locate`: how far rounding may take a whole model, and when what was seen inside is no evidence; borders, both sides.

The numbers are written out instead of being taken from the code, so that a changed constant fails here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.precision import UNITS
from polycmp_locate.rounding.difference import coarser, distance, relative_to
from polycmp_locate.rounding.perturbing import nudged
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.trials.noise import Noise
from polycmp_locate.trials.probe import check_probe


def above(value):
    return math.nextafter(value, math.inf)


class Gain:
    """A reference whose output moves `gain` times as far as its input."""

    def __init__(self, gain):
        self.gain = gain

    def run_whole(self, feed, outputs):
        return {"y": 1 + (feed["x"] - 1) * self.gain}


def noise(gain):
    """Return the noise of a model whose input of 1 moves its output of 1 by gain times 2**-23."""
    return Noise(Gain(gain), {"x": np.ones(1, np.float32)}, {"y": np.ones(1, np.float32)})


# --- the limit of a whole model


@pytest.mark.parametrize(
    ("position", "unit", "limit"),
    [
        (0, "float32", 2.0**-18),
        (3, "float32", 2.0**-17),
        (99, "float32", 10 * 2.0**-18),
        (0, "float64", 2.0**-47),
        (0, "float16", 2.0**-7),
        (15, "bfloat16", 2.0**-2),
        (62, "bfloat16", math.sqrt(63) / 16),
        (63, "bfloat16", 0.5),
        (64, "bfloat16", 0.5),
        (10_000, "float16", 0.5),
        (3, "float8_e5m2", 0.5),
    ],
)
def test_roundings_add_up_with_the_root_of_their_number_to_a_half_at_most(position, unit, limit):
    assert noise(0).limit(position, UNITS[unit]) == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize(("gain", "limit"), [(0, 2.0**-18), (2, 2.0**-18), (3, 3 * 2.0**-19), (2**23, 16.0)])
def test_sixteen_times_what_one_unit_in_the_inputs_moves_is_rounding(gain, limit):
    assert noise(gain).moved == gain * 2.0**-23
    assert noise(gain).limit(0, UNITS["float32"]) == limit


def test_what_moved_tensors_make_is_rounding_where_that_was_measured():
    ones = np.ones(1, np.float32)
    found = Noise(Gain(2**23), {"x": ones}, {"y": ones}, lambda names: 0.25 if names == ["y"] else None)
    assert found.limit(0, UNITS["float32"]) == 0.25
    assert found.limit(0, UNITS["bfloat16"], 2.0**-4) == 2.0**-4
    assert found.limit(99, UNITS["bfloat16"]) == 0.5


def test_a_reference_that_cannot_run_nudged_inputs_moves_nothing():
    reference = Gain(1)
    reference.run_whole = lambda feed, outputs: None
    assert Noise(reference, {"x": np.ones(1, np.float32)}, {"y": np.ones(1, np.float32)}).moved == 0.0


def unaffordable(feed, outputs):
    raise AssertionError("the model is run once more for nothing")


def test_an_error_that_adding_up_roundings_explains_takes_no_further_run_of_the_model():
    reference = Gain(3)
    reference.run_whole = unaffordable
    found = Noise(reference, {"x": np.ones(1, np.float32)}, {"y": np.ones(1, np.float32)})
    assert found.limit(0, UNITS["float32"], 2.0**-18) == 2.0**-18
    with pytest.raises(AssertionError, match="once more"):
        found.limit(0, UNITS["float32"], above(2.0**-18))
    assert noise(3).limit(0, UNITS["float32"], above(2.0**-18)) == 3 * 2.0**-19


def test_whole_numbers_alone_have_no_last_place_to_move():
    reference = Gain(3)
    reference.run_whole = unaffordable
    feed = {"ids": np.arange(4), "mask": np.ones(4, np.bool_)}
    assert Noise(reference, feed, {"y": np.ones(1, np.float32)}).moved == 0.0


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
    moved = nudged({"x": x, "k": np.array([3])})
    step = np.float32(2) ** -23
    assert moved["x"].tolist() == [[1 + step, 1 - step / 2], [np.inf, -2 - 2 * step]]
    assert moved["k"].tolist() == [3]
    assert x[0, 0] == 1
