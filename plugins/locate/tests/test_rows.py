"""The figures of one tensor beside the reference's, and what follows from what its operator read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from located_rows import FLOAT32, INFINITE, INT8, NANS, row

from polycmp.compare import PairComparer, Simple, SimpleOptions
from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp_locate.sweep.rows import after_inputs, in_order, make_row

INF, NAN = math.inf, math.nan


def made(candidate, reference, op="Mul", allowed="", kind=np.float32):
    """Return the row of a tensor that both sides made."""
    one, two = (np.array(values, kind) for values in (candidate, reference))
    (item,) = PairComparer("new", "old", {"simple": Simple(SimpleOptions())}).add({"t": one}, {"t": two})
    return make_row(GraphNode(op, "n", outputs=("t",)), item, one, two, allowed)


@pytest.mark.parametrize(
    ("candidate", "reference", "max_abs", "relative"),
    [
        ([1.0, 4.5], [1.0, 4.0], 0.5, 0.125),
        ([1.0, NAN], [1.0, 4.0], INF, INF),
        ([1.0, -INF], [1.0, -INF], 0.0, 0.0),
        ([1.5, -INF], [1.0, -INF], 0.5, 0.5),
        ([1.5, -3.4e38], [1.0, -3.4e38], 0.5, 0.5),
        ([0.0, 0.0], [0.0, 0.0], 0.0, 0.0),
    ],
)
def test_an_error_is_relative_to_the_largest_number_that_is_no_mask(candidate, reference, max_abs, relative):
    found = made(candidate, reference)
    assert (found.max_abs, found.relative) == (max_abs, relative)
    assert found.passed is (candidate == reference and bool(np.isfinite(candidate).all()))
    assert bool(found.reason) is not found.passed


def test_infinities_on_both_sides_match_and_on_one_saturate():
    assert made([1.0, INF], [1.0, INF]).is_matched
    assert not made([1.0, 2.0], [1.0, 2.0]).is_matched  # nothing uneven, so nobody asked
    assert not made([1.5, INF], [1.0, INF]).is_matched
    found = made([1.0, 65504.0], [1.0, INF], kind=np.float16)
    assert (found.is_matched, found.is_saturated) == (False, True)


def test_small_probabilities_are_read_on_a_scale_of_a_16th():
    assert made([1e-5], [2e-5], op="Sigmoid").relative == pytest.approx(16e-5)
    assert made([1e-5], [2e-5]).relative == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("kind", "allowed", "unit", "in_steps"),
    [
        (np.float32, "", FLOAT32, False),
        (np.float32, "float16", UNITS["float16"], False),
        (np.int8, "float16", 0.0, True),
        (np.int64, "float16", 0.0, False),
    ],
)
def test_a_tensor_is_judged_by_the_coarser_of_its_type_and_what_is_allowed(kind, allowed, unit, in_steps):
    found = made([1, 2], [1, 2], allowed=allowed, kind=kind)
    assert (found.unit, found.in_steps) == (unit, in_steps)


@pytest.mark.parametrize(
    ("own", "before", "jump"), [(0.5, [0.125, 0.25], 2.0), (0.5, [], INF), (0.5, [0.0], INF), (0.5, [INF, 0.1], 1.0)]
)
def test_an_error_grows_from_the_worst_of_what_the_operator_read(own, before, jump):
    after = after_inputs(row(own), [row(error) for error in before], [], 0.0, borrowed=False)
    assert after.jump == jump


def test_without_an_error_nothing_grows():
    assert after_inputs(row(0.0, jump=0.0), [row(0.0)], [], 0.0, borrowed=False).jump == 0.0


@pytest.mark.parametrize(("before", "gain"), [(0.01, 0.04), (0.02, 0.0), (0.1, 0.0)])
def test_a_factor_in_a_whole_row_is_that_of_the_operator_unless_half_of_it_came_in(before, gain):
    after = after_inputs(row(0.5, gain=0.04), [row(gain=before)], [], 0.0, borrowed=True)
    assert (after.gain, after.is_borrowed) == (gain, True)


@pytest.mark.parametrize(
    ("own", "before", "fed", "finite"),
    [
        (INFINITE, {}, [1.0], True),
        (INFINITE, {"candidate": NANS}, [1.0], False),
        (INFINITE, {}, [1.0, INF], False),
        (INFINITE, {"candidate": None}, [], True),
    ],
)
def test_infinities_are_born_where_all_that_was_read_is_finite(own, before, fed, finite):
    arrays = [np.array([number], np.float32) for number in fed]
    assert after_inputs(row(candidate=own), [row(**before)], arrays, 0.0, borrowed=False).inputs_finite is finite


def test_the_coarsest_type_on_the_way_is_kept():
    half = np.array([1.0], np.float16)
    coarse = row(path_unit=UNITS["bfloat16"])
    assert after_inputs(row(), [coarse, row()], [half], 0.0, borrowed=False).path_unit == UNITS["bfloat16"]
    assert after_inputs(row(), [row()], [half], 0.0, borrowed=False).path_unit == UNITS["float16"]
    steps = after_inputs(row(in_steps=True, unit=0.0), [row(unit=UNITS["float16"])], [], UNITS["tf32"], borrowed=False)
    assert (steps.path_unit, steps.input_unit) == (INT8, UNITS["float16"])
    exact = after_inputs(row(in_steps=True, unit=0.0), [], [], 0.0, borrowed=False)
    assert exact.input_unit == FLOAT32


def test_rows_stand_in_the_order_of_the_graph():
    assert list(in_order({"b": row(), "a": row()}, {"a": 0, "b": 1})) == ["a", "b"]
