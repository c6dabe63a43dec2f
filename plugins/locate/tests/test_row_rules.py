"""What is decided on single rows, each border from both sides.

The numbers are written out instead of being taken from the code, so that a changed constant fails here.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from located_rows import FLOAT32, INT8, above, alone, below, part, row

from polycmp.compare import ErrorStats
from polycmp.precision import UNITS
from polycmp_locate import row_rules as d
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.values.measured import Standalone


@pytest.mark.parametrize("unit", [0.0, FLOAT32])
def test_a_tensor_of_another_shape_has_its_operator_measured(unit):
    assert d.needs_measuring(row(0.0, unit=unit, stats=None), 1.0)


@pytest.mark.parametrize(("units", "wrong"), [(4.0, False), (above(4.0), True)])
@pytest.mark.parametrize("where", ["alone", "in place"])
def test_a_factor_of_four_units_in_a_whole_row_is_no_rounding_in_a_coarse_type(units, wrong, where):
    half, share = UNITS["float16"], units * UNITS["float16"]
    gains = {"gain": share} if where == "alone" else {"in_place": 0.0, "in_place_gain": share}
    assert d.is_culprit(row(share, unit=half, path_unit=half, standalone=alone(share, **gains))) is wrong
    assert d.needs_measuring(row(share, unit=half, path_unit=half, gain=share), 1.0) is wrong


@pytest.mark.parametrize(
    ("op", "unit", "may"), [("Conv", "float16", True), ("Softmax", "float16", False), ("Conv", "float32", False)]
)
def test_where_a_factor_in_a_whole_row_tells_something(op, unit, may):
    assert d.may_have_gain(row(op=op, unit=UNITS[unit])) is may


@pytest.mark.parametrize(
    ("unit", "op", "limit"),
    [
        ("float64", "", 2.0**-47), ("float32", "", 2.0**-18), ("float16", "", 2.0**-7), ("tf32", "", 2.0**-7),
        ("bfloat16", "", 2.0**-4), ("int8", "", 2.0**-4), ("float8_e5m2", "", 2.0**-2),
        ("float32", "Relu", 2.0**-21), ("float16", "MaxPool", 2.0**-10), ("float16", "Conv", 2.0**-7),
        ("float32", "Add", 2.0**-18), ("float16", "Add", 2.0**-9), ("bfloat16", "Cast", 2.0**-6),
    ],
)  # fmt: skip
def test_how_much_of_one_operator_is_rounding(unit, op, limit):
    one = {"op": op, "unit": UNITS[unit], "type": f"{unit}[4]"}
    assert d.operator_limit(row(**one)) == limit
    assert d.standalone_is_rounding(row(standalone=alone(limit), **one))
    assert not d.standalone_is_rounding(row(standalone=alone(above(limit)), **one))


def test_an_operator_that_may_calculate_in_a_coarser_type_than_its_own_rounds_what_it_reads_too():
    allowed = row(op="Add", unit=UNITS["float16"], type="float32[4]", standalone=alone(2.0**-7))
    assert d.standalone_is_rounding(allowed)


@pytest.mark.parametrize(("relative", "explained"), [(2.0**-8, True), (above(2.0**-8), False)])
def test_sixteen_times_a_measured_noise_floor_is_rounding(relative, explained):
    assert d.standalone_is_rounding(row(standalone=alone(relative, floor=2.0**-12))) is explained


@pytest.mark.parametrize(
    ("measured", "culprit"),
    [
        (None, False),
        (alone(), False),
        (alone(0.5), True),
        (alone(0.5, in_place=0.0), False),
        (alone(0.5, in_place=0.5), True),
        (alone(0.0, in_place=2.0**-18), False),
        (alone(0.0, in_place=above(2.0**-18)), True),
    ],
)
def test_an_operator_is_wrong_if_it_was_wrong_in_its_place(measured, culprit):
    assert d.is_culprit(row(0.5, standalone=measured)) is culprit


def test_what_lies_between_quantised_tensors_may_be_quantised_in_its_place():
    assert not d.is_culprit(row(0.1, path_unit=INT8, standalone=alone(0.0, in_place=2.0**-4)))
    assert d.is_culprit(row(0.1, path_unit=INT8, standalone=alone(0.0, in_place=above(2.0**-4))))


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"max_abs": 0.0}, False),
        ({"max_abs": 1.0, "share": 0.5, "in_place": 0.5}, True),
        ({"max_abs": 1.0, "share": 0.5, "in_place": 0.5, "in_place_steps": 1.0, "are_ties": True}, False),
        ({"max_abs": 1.0, "share": 1e-4, "in_place": 0.1, "in_place_steps": 1.0}, False),
        ({"max_abs": 0.0, "in_place": 0.1, "in_place_steps": 2.0}, True),
    ],
)
def test_a_quantised_operator_is_judged_in_steps(changes, culprit):
    measured = Standalone(**{"relative": changes["max_abs"], "passed": True, "count": 10**5, **changes})
    judged = row(0.5, unit=0.0, in_steps=True, input_unit=FLOAT32, standalone=measured)
    assert d.is_culprit(judged) is culprit


def test_integers_that_hold_no_steps_are_exact():
    assert d.is_culprit(row(0.5, unit=0.0, standalone=alone(1.0)))
    assert not d.is_culprit(row(0.5, unit=0.0, standalone=alone(1.0, same_if_rounded=True)))


@pytest.mark.parametrize(
    ("changes", "limit", "off"),
    [
        ({"relative": 0.1}, 0.1, False),
        ({"relative": above(0.1)}, 0.1, True),
        ({"relative": 0.5, "passed": True}, 0.1, False),
        ({"relative": 0.0, "stats": None}, 0.1, True),
        ({"relative": math.inf}, 0.1, True),
        ({"relative": math.inf, "is_matched": True}, 0.1, False),
        ({"relative": 0.01, "unit": 0.0}, 0.1, True),
    ],
)
def test_which_tensors_are_off(changes, limit, off):
    assert d.is_off(row(**changes), limit) is off


@pytest.mark.parametrize(
    ("truth", "ill"),
    [
        ((2.0**-10, 2.0**-14), False),
        ((2.0**-13, above(2.0**-14)), True),
        ((0.5, 0.5), True),
        ((2.0**-12, 2.0**-8), True),
        ((below(2.0**-12), 2.0**-8), False),
        ((2.0**-4, 2.0**-8), True),
        ((above(2.0**-4), 2.0**-8), False),
        ((1.0, math.inf), False),
    ],
)
def test_from_which_distance_of_both_sides_on_a_model_is_ill_conditioned(truth, ill):
    assert d.is_ill_conditioned(row(0.1, truth=truth)) is ill
    assert not d.is_ill_conditioned(row(0.1, truth=truth, passed=True))


def test_the_model_s_own_coarse_type_is_no_bad_condition():
    assert d.is_ill_conditioned(row(0.1, truth=(1e-3, 1e-3)))
    assert not d.is_ill_conditioned(row(0.1, truth=(1e-3, 1e-3), path_unit=UNITS["float16"]))


@pytest.mark.parametrize(("jump", "wanted"), [(8.0, False), (above(8.0), True)])
def test_from_which_growth_on_an_operator_is_measured(jump, wanted):
    assert d.needs_measuring(row(1e-3, jump=jump), 1.0) is wanted


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
