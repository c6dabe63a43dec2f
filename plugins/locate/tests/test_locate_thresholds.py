"""The numbers behind decisions on single tensors, each with a value on either side of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from polycmp.compare import ErrorStats
from polycmp.precision import UNITS
from polycmp_locate import row_rules as d
from polycmp_locate.causes.narrowed import lone_narrowing
from polycmp_locate.measure.operators import OperatorTester
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.report.summed import worst_steps
from polycmp_locate.report.words import _covers_less, notes_of
from polycmp_locate.rounding import thresholds
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.rounding.quantised import StepError, step_error
from polycmp_locate.values.judged import Judged, Probe
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row


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
    ("changes", "scaled", "only", "clipped"),
    [
        ({}, False, False, False),
        ({"gain": 1 + 2.0**-5}, False, False, False),
        ({"gain": math.nextafter(1 + 2.0**-5, 2)}, True, True, False),
        ({"gain": 1 - 2.0**-5 - 1e-9}, True, True, False),
        ({"gain": 2.0, "unexplained": 2.0**-6}, True, True, False),
        ({"gain": 2.0, "unexplained": math.nextafter(2.0**-6, 1)}, True, False, False),
        ({"gain": 2.0**-12}, True, False, False),
        ({"gain": math.nextafter(2.0**-12, 1)}, True, True, False),
        ({"beyond": 2.0**-6}, False, False, False),
        ({"beyond": math.nextafter(2.0**-6, 1)}, False, False, True),
        ({"beyond": 1e-6, "largest": 0.25}, False, False, False),
        ({"beyond": 1e-6, "largest": math.nextafter(0.25, 1)}, False, False, True),
    ],
)
def test_a_factor_and_a_range_that_are_more_than_rounding(changes, scaled, only, clipped):
    error = StepError(
        **{"gain": 1.0, "beyond": 0.0, "unexplained": 0.0, "largest": 0.0, "low": -1.0, "high": 1.0, **changes}
    )
    assert (error.is_scaled, error.is_only_scaled, error.is_clipped) == (scaled, only, clipped)
    assert error.is_rounding is not (scaled or clipped)


@pytest.mark.parametrize(("left", "lost"), [(0.0, True), (0.49, True), (0.51, False), (1.0, False)])
def test_numbers_beside_masks_are_lost_where_half_of_them_is_error(left, lost):
    other = np.array([-1e4, 1.0, 1.0])
    own = np.array([-1e4, left, left])
    found = step_error(own, other, 0.5, np.array([False, True, True]))
    assert bool(found.drowned) is lost


def part(op="Mul", unit="float32", **changes):
    """Return the row of a tensor of a part of two models, of a type and far off."""
    values = {"unit": UNITS[unit], "coarsest": unit, **changes.pop("node", {})}
    return Row("t", PartNode(op, "t", **values), "float32[4]", relative=1.0, **changes)


@pytest.mark.parametrize(("parts", "coarse", "told"), [(10, 1, True), (10, 2, False), (20, 2, True), (20, 3, False)])
def test_a_type_is_an_exception_in_a_tenth_of_the_parts(parts, coarse, told):
    rows = [part(unit="float16") for _ in range(coarse)] + [part() for _ in range(parts - coarse)]
    assert (lone_narrowing(rows) is not None) is told


@pytest.mark.parametrize(("units", "told"), [(math.nextafter(4.0, 0.0), False), (4.0, True)])
def test_a_type_is_coarser_from_two_bits_on(units, told):
    rows = [part(node={"unit": units * UNITS["float32"]}), *[part() for _ in range(9)]]
    assert (lone_narrowing(rows) is not None) is told


@pytest.mark.parametrize(("error", "told"), [(2.0**-6, False), (math.nextafter(2.0**-6, 1.0), True)])
def test_what_steps_add_up_to_is_told_from_a_64th_on(error, told):
    steps = Row("t", PartNode("Mul", "t", unit=UNITS["int8"], coarsest="int8", quantised=True), "float32[4]", unit=1.0)
    probe = Probe(error=error, probed_error=error, trusted=True, sentence="")
    assert bool(worst_steps(Located("mine", "other", Judged(rows=(steps,), probe=probe, is_probed=True)))) is told


@pytest.mark.parametrize(
    ("high", "at_ends", "told"),
    [
        (math.nextafter(0.95, 0.0), 0.6, True),
        (0.95, 0.6, False),
        (0.5, 0.5, False),
        (0.5, math.nextafter(0.5, 1.0), True),
    ],
)
def test_a_scale_covers_less_than_the_values_where_they_lie_at_its_ends(high, at_ends, told):
    row = part(reference=Figures(-1.0, 1.0, count=4))
    steps = StepError(gain=1.0, beyond=0.1, unexplained=0.1, largest=0.1, low=-1.0, high=high, at_ends=at_ends)
    assert _covers_less(row, steps) is told


class Rounding:
    """A reference that rounds what it reads to whole steps."""

    def run_part(self, feed, names):
        return {name: np.rint(feed["x"]).astype(np.int8) for name in names}


@pytest.mark.parametrize(
    ("value", "width", "tie"), [(10.15, 8.0, False), (10.2, 8.0, True), (10.3, 4.0, False), (10.4, 4.0, True)]
)
def test_a_step_is_a_tie_where_inputs_a_few_units_away_make_it(value, width, tie):
    tester = OperatorTester.__new__(OperatorTester)
    tester.reference = Rounding()
    row = part(input_unit=2.0**-8)
    pair = np.array([11], np.int8), np.array([10], np.int8)
    assert tester._are_ties(row, {"x": np.array([value])}, pair, width) is tie


@pytest.mark.parametrize(
    ("relative", "other", "alike"),
    [(2.0**-11, -math.inf, True), (math.inf, 1.0, False)],
)
def test_infinities_where_the_other_side_has_them(relative, other, alike):
    """The logarithm of a distance of 0 is infinite on both sides, and the others are rounded."""
    sides = (Figures(low=-1.0, inf=1, count=3), Figures(low=-1.0, inf=int(math.isinf(other)), count=3))
    figures = {"candidate": sides[0], "reference": sides[1], "stats": ErrorStats(count=3, failed=1)}
    row = replace(part("Log", **figures), relative=relative)
    assert d.is_beyond_range(row)
    assert d.differs_beyond_range(row) is not alike


@pytest.mark.parametrize(
    ("coarsest", "units", "lost"),
    [
        ("float32", 1024.0, False),
        ("float32", 1025.0, True),
        ("float16", 256.0, False),
        ("float16", 257.0, True),
        ("int8", 127.0, False),
    ],
)
def test_digits_are_lost_where_the_types_on_the_way_do_not_explain_it(coarsest, units, lost):
    """A float32 output of a model that is quantised inside is as far from float64 as its steps are wide."""
    off = units * UNITS[coarsest]
    row = part(path_unit=UNITS[coarsest], truth=(off, off), truth_passed=False)
    assert d.loses_digits(row) is lost


@pytest.mark.parametrize(("count", "said"), [(2, ""), (3, "so is 1 more operator"), (4, "so are 2 more operators")])
def test_two_harmless_operators_are_told_and_the_others_counted(count, said):
    notes = notes_of(Located("mine", "other", Judged(harmless=tuple(part() for _ in range(count)))))
    assert len(notes) == (3 if said else 2)
    assert said in notes[-1]


def in_steps(values, step):
    return np.rint(values / step) * step


@pytest.mark.parametrize(("planted", "is_rounding"), [(0.0, True), (1.0, False)], ids=["rounding", "code of 0"])
def test_all_of_a_channel_may_be_rounded_in_one_direction_by_steps_of_a_range_that_is_hardly_used(planted, is_rounding):
    rng, step = np.random.default_rng(0), 0.12
    exact = rng.uniform(-1, 1, (1, 8, 172))
    exact[0, 3] = rng.uniform(0, 0.3 * step, 172)  # less than half a step: all become 0
    made = in_steps(exact, step) + planted * step
    fine = [exact + rng.uniform(-0.002, 0.002, exact.shape) for _ in range(4)]
    assert step_error(made, exact, 2.0**-6, step=step, measured=fine).is_rounding == is_rounding


@pytest.mark.parametrize(("factor", "is_rounding"), [(1.0, True), (1.6, False)], ids=["chance", "scale"])
def test_eight_numbers_keep_a_factor_by_chance(factor, is_rounding):
    exact, step = np.array([[-1.0, 0.52, 0.3, -0.61], [0.87, -0.3, 0.43, -0.45]]), 0.08
    steps = np.array([[0.3, 1.1, 0.3, 1.1], [0.3, 0.3, 0.3, 0.3]])
    made = factor * (exact + steps * step * np.sign(exact))
    away = 0.03 * np.array([[1, 1, -1, -1], [1, -1, 1, -1]])
    fine = [exact + away - exact * np.vdot(away, exact) / np.vdot(exact, exact)] * 4  # which happens to keep none
    assert step_error(made, exact, 2.0**-4, step=step, measured=fine).is_scaled != is_rounding
