"""`locate`: at which figures one decision ends and the next begins, each border from both sides.

The numbers are written out instead of being taken from the code, so that a changed constant fails here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.compare import ErrorStats
from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp_locate import row_rules as d
from polycmp_locate.causes.operator import Evidence, blame
from polycmp_locate.rounding import thresholds
from polycmp_locate.rounding.figures import Figures, gain
from polycmp_locate.trials import probing
from polycmp_locate.trials.flow import Flow
from polycmp_locate.values.measured import Row, Standalone

FLOAT32, INT8 = UNITS["float32"], UNITS["int8"]
NUMBERS = Figures(-1.0, 1.0, count=4)
NANS = Figures(0.0, 1.0, nan=1, count=4)
INFINITE = Figures(0.0, 1.0, inf=1, count=4)


def above(value):
    return math.nextafter(value, math.inf)


def below(value):
    return math.nextafter(value, 0.0)


def alone(relative=0.0, **changes):
    return Standalone(relative, relative, passed=True, **{"count": 1000, **changes})


def row(relative=0.0, tensor="t", reads=(), op="Op", **changes):
    """Return the row of a float32 tensor outside the tolerances."""
    values = {
        "passed": False, "stats": ErrorStats(), "candidate": NUMBERS, "reference": NUMBERS, "relative": relative,
        "max_abs": relative, "unit": FLOAT32, "path_unit": FLOAT32, "jump": math.inf,
    }  # fmt: skip
    kind = changes.pop("type", "float32[4]")
    return Row(tensor, GraphNode(op, tensor, inputs=reads, outputs=(tensor,)), kind, **{**values, **changes})


# --- one operator


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


class TestGain:
    RNG = np.random.default_rng(0)
    VALUES = RNG.standard_normal((4, 64))

    @pytest.mark.parametrize("shape", [(4, 64), (4, 8, 8), (256,)])
    def test_a_row_off_by_one_factor(self, shape):
        values = self.VALUES.reshape(shape)
        made = values.copy()
        made[-1:] = made[-1:] * 1.004 if len(shape) > 1 else made[-1:]
        made = made if len(shape) > 1 else values * 1.004
        assert gain(made, values) == pytest.approx(0.004)

    def test_rounding_is_none(self):
        assert gain(self.VALUES.astype(np.float16), self.VALUES) == 0.0
        assert gain(self.VALUES + 0.01 * self.RNG.standard_normal((4, 64)), self.VALUES) == 0.0

    def test_a_few_numbers_that_outweigh_the_rest_tell_nothing(self):
        values = np.where(np.arange(64) < 15, 1.0, 1e-3)
        assert gain(values * 1.004, values) == 0.0

    @pytest.mark.parametrize("values", [np.zeros((0, 3)), np.zeros((2, 64)), np.full((2, 64), np.inf), np.float64(1)])
    def test_nothing_to_tell_it_by(self, values):
        assert gain(np.asarray(values) * 2, np.asarray(values)) == 0.0


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


# --- the way through


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


@pytest.mark.parametrize(
    ("relative", "name"),
    [(2.0**-10, "float16 or TF32"), (above(2.0**-10), "bfloat16"), (2.0**-6, "bfloat16"), (above(2.0**-6), "")],
)
def test_an_error_as_of_a_coarser_type(relative, name):
    assert thresholds.type_like(relative) == name
    assert thresholds.is_beyond_eight_bits(relative) is (name == "")


# --- looking, and leading to the outputs


@pytest.mark.parametrize(
    ("error", "probed", "fusion"),
    [(1.0, 0.25, True), (1.0, above(0.25), False), (math.inf, 0.1, True), (math.inf, math.inf, False)],
)
def test_an_error_that_probing_takes_away_is_one_of_fusion(error, probed, fusion):
    assert probing.is_fusion(error, probed) is fusion


@pytest.mark.parametrize(
    ("patched", "control", "leads"),
    [(0.0, 1.0, True), (0.5, 1.0, True), (above(0.5), 1.0, False), (0.0, 0.25, False), (0.1, above(0.25), True)],
)
def test_a_trial_tells_whether_an_error_leads_to_the_outputs(patched, control, leads):
    assert probing.explains(patched, control, 1.0) is leads


@pytest.mark.parametrize(
    ("patched", "control", "leads"),
    [(0.0, math.inf, True), (1.0, math.inf, True), (math.inf, math.inf, False), (0.0, 1.0, False)],
)
def test_a_trial_tells_whether_an_error_leads_to_another_shape_or_to_nan(patched, control, leads):
    assert probing.explains(patched, control, math.inf) is leads


@pytest.mark.parametrize(("own", "obvious"), [(0.25, True), (below(0.25), False)])
def test_a_quarter_of_the_outputs_error_needs_no_trial(own, obvious):
    assert probing.is_obvious(own, 1.0) is obvious


# --- the verdict on several tensors: a -> b -> y


def verdict(a, b, y, failing=1.0, leads=lambda row, outputs: True):
    rows = [
        row(tensor="a", reads=("x",), **a), row(tensor="b", reads=("a",), **b), row(tensor="y", reads=("b",), **y),
    ]  # fmt: skip
    found = blame(
        Evidence(
            rows,
            Flow([item.node for item in rows]),
            {"y": failing} if failing else {},
            {"y"} if failing > 16 * y.get("unit", FLOAT32) else set(),
            frozenset({"y"}),
            leads,
        )
    )
    names = [item.tensor if item is not None else None for item in (found.first_bad, found.origin, found.turning)]
    return found.verdict, *names


INF = {"relative": math.inf, "candidate": INFINITE, "inputs_finite": True}
RIGHT = {"standalone": alone()}


@pytest.mark.parametrize(
    ("a", "b", "y", "failing", "expected"),
    [
        ({}, {}, {}, 0.0, ("within rounding", None, None, None)),
        (INF, {"relative": 0.0}, {"relative": 0.0}, 0.0, ("within rounding", None, None, None)),
        (INF, {"relative": 0.5}, {"relative": 0.0}, 0.0, ("NaN/Inf born here", "a", "a", None)),
        (INF, {"candidate": NANS, "relative": math.inf}, {}, 0.0, ("NaN/Inf born here", "a", "a", None)),
        (INF, {}, {"relative": 0.5, "standalone": alone(0.5)}, 0.5, ("wrong", "y", "y", None)),
        ({"relative": 0.1, "standalone": alone(0.1)}, {"relative": 0.1}, {"relative": 0.1}, 0.1,
         ("wrong", "a", "a", None)),
        ({"relative": 2.0**-8, "standalone": alone(2.0**-8)}, {"relative": 0.1}, {"relative": 0.1}, 2.0**-8,
         ("worse than this precision explains", "a", "a", None)),
        ({"relative": 1e-4, "passed": True, "standalone": alone(1e-4)}, {"relative": 0.1, **RIGHT},
         {"relative": 0.1, **RIGHT}, 1e-4, ("wrong", "b", "a", None)),
        ({"relative": 1.0, "unit": 0.0, "in_steps": True, **RIGHT}, {"relative": 0.1, **RIGHT},
         {"relative": 0.1, **RIGHT}, 0.1, ("within rounding", None, None, "a")),
        ({"relative": 0.1, **RIGHT}, {"relative": 0.1, **RIGHT}, {"relative": 0.1, **RIGHT}, 0.1,
         ("undecided", None, None, None)),
        ({"relative": 0.1, "was_tried": True}, {"relative": 0.1}, {"relative": 0.1}, 0.1, ("wrong", "a", "a", None)),
        ({"relative": 0.1, "was_postponed": True}, {"relative": 0.1}, {"relative": 0.1}, 0.1,
         ("undecided", None, None, "a")),
        ({"relative": 0.1, "standalone": alone(0.1)}, {"relative": 0.0}, {"relative": 0.0}, 0.0,
         ("wrong", "a", "a", None)),
    ],
)  # fmt: skip
def test_the_verdict_on_a_chain(a, b, y, failing, expected):
    assert verdict(a, b, y, failing) == expected


@pytest.mark.parametrize(
    ("steps", "failed", "expected"),
    [(1.0, 1, "within rounding"), (1.0, 400, "wrong"), (2.0, 1, "wrong")],
)
def test_ties_of_an_operator_that_could_not_be_run_alone_accuse_it_of_nothing(steps, failed, expected):
    """The codes of a fused operator of a LiteRT model, one step off in few places: what rounds is inside."""
    stats = ErrorStats(count=2048, failed=failed)
    codes = {"unit": 0.0, "in_steps": True, "input_unit": FLOAT32, "max_abs": steps, "stats": stats, "was_tried": True}
    behind = {"relative": 0.02, **RIGHT}
    found = verdict({"relative": 0.01, **codes}, behind, {**behind, "unit": 0.1}, 0.02)
    assert found[0] == expected


def test_a_small_error_that_does_not_lead_to_the_outputs_is_never_the_answer():
    small, large = {"relative": 2e-5, "standalone": alone(2e-5)}, {"relative": 0.5, "standalone": alone(0.5)}
    assert verdict(small, large, {"relative": 0.5, **RIGHT}, 0.5, lambda row, outputs: False)[1] == "b"
    assert verdict(small, large, {"relative": 0.5, **RIGHT}, 0.5, lambda row, outputs: True)[1] == "a"


@pytest.mark.parametrize(("jump", "wanted"), [(8.0, False), (above(8.0), True)])
def test_from_which_growth_on_an_operator_is_measured(jump, wanted):
    assert d.needs_measuring(row(1e-3, jump=jump), 1.0) is wanted
