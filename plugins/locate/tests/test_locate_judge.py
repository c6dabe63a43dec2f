"""`locate`: at which figures one verdict ends and the next begins, each border from both sides.

The numbers are written out instead of being taken from the code, so that a changed constant fails here.
"""

from __future__ import annotations

import math
from itertools import count

import pytest

from polycmp.compare.verdicts import ErrorStats, OutputComparison
from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp_locate.engine import _origin as origin_of
from polycmp_locate.figures import Figures
from polycmp_locate.result import Located, Own, Row
from polycmp_locate.words import believed, classify, explanation, floor, sentence

EQUAL, ROUNDING, WORSE, WRONG = "equal", "within rounding", "worse than this precision explains", "wrong"
ILL, BORN, CONSTANT = "ill-conditioned model", "NaN/Inf born here", "suspiciously constant"
NUMBERS = Figures(-1.0, 1.0, count=4)
HALVES = Figures(0.5, 0.5, count=4)
NANS = Figures(0.0, 1.0, nan=1, count=4)
INFINITE = Figures(0.0, 1.0, inf=1, count=4)
numbers = count()


def above(value):
    return math.nextafter(value, math.inf)


def below(value):
    return math.nextafter(value, 0.0)


def row(relative=0.0, unit="float32", **changes):
    """Return the row of a float32 tensor outside the tolerances."""
    values = {
        "passed": False, "stats": ErrorStats(), "candidate": NUMBERS, "reference": NUMBERS, "relative": relative,
        "unit": UNITS.get(unit, 0.0),
    }  # fmt: skip
    tensor = f"t{next(numbers)}"
    return Row(tensor, GraphNode("Op", "node", outputs=(tensor,)), "float32[4]", **{**values, **changes})


def own(relative, *, passed=True, floor=None):
    return Own(relative, relative, passed, floor)


# --- how large an error rounding explains, by type


@pytest.mark.parametrize(
    ("unit", "rounding"),
    [
        ("float64", 2.0**-47),
        ("float32", 2.0**-18),
        ("float16", 2.0**-7),
        ("tf32", 2.0**-7),
        ("bfloat16", 2.0**-4),
        ("int8", 2.0**-4),
        ("float8_e4m3fn", 2.0**-2),
        ("float8_e5m2", 2.0**-2),
        ("exact numbers", 0.0),
    ],
)
def test_sixteen_times_what_a_type_rounds_is_rounding(unit, rounding):
    assert classify(row(rounding, unit)) == ROUNDING
    assert classify(row(above(rounding), unit)) in {WORSE, WRONG}


@pytest.mark.parametrize(("relative", "verdict"), [(2.0**-6, WORSE), (above(2.0**-6), WRONG), (math.inf, WRONG)])
@pytest.mark.parametrize("unit", ["float32", "float16", "exact numbers"])
def test_beyond_eight_bits_it_is_wrong_and_not_only_imprecise(unit, relative, verdict):
    assert classify(row(relative, unit)) == verdict


def test_what_is_within_the_tolerances_is_equal_whatever_the_error():
    assert classify(row(0.5, passed=True)) == EQUAL


def test_what_could_not_be_subtracted_is_wrong():
    assert classify(row(0.0, stats=None)) == WRONG


@pytest.mark.parametrize(("relative", "verdict"), [(2.0**-10, ROUNDING), (above(2.0**-10), WORSE)])
def test_what_the_reference_is_off_from_float64_counts_as_rounding(relative, verdict):
    assert classify(row(relative, truth=(2.0**-14, 2.0**-14))) == verdict


@pytest.mark.parametrize(("share", "explained"), [(2.0**-12, 2.0**-12), (below(2.0**-12), 2.0**-22)])
def test_an_operator_s_floor_counts_where_it_makes_a_quarter_of_the_error_itself(share, explained):
    assert floor(row(2.0**-10, own=own(share, floor=2.0**-12))) == explained


def test_the_largest_of_all_floors_counts():
    assert floor(row(2.0**-10)) == 2.0**-22
    assert floor(row(2.0**-10, truth=(2.0**-15, 2.0**-15))) == 2.0**-15
    assert floor(row(2.0**-10, truth=(2.0**-15, 2.0**-15), own=own(2.0**-10, floor=2.0**-13))) == 2.0**-13
    assert floor(row(2.0**-10, truth=(2.0**-23, 2.0**-23), own=own(2.0**-10, floor=2.0**-23))) == 2.0**-22


# --- ill-conditioned: the reference itself is far from float64, and the candidate no further


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize(
    ("reference", "is_ill"), [(2.0**-14, False), (above(2.0**-14), True), (0.5, True), (math.inf, False)]
)
def test_from_which_error_of_the_reference_on_a_model_is_ill_conditioned(reference, is_ill, passed):
    found = classify(row(2.0**-7, truth=(min(reference, 1.0), reference), passed=passed))
    assert (found == ILL) is is_ill


@pytest.mark.parametrize(
    ("candidate", "is_ill"),
    [(2.0**-12, True), (below(2.0**-12), False), (2.0**-4, True), (above(2.0**-4), False)],
)
def test_neither_side_may_be_sixteen_times_closer_to_float64(candidate, is_ill):
    assert (classify(row(2.0**-7, truth=(candidate, 2.0**-8))) == ILL) is is_ill


@pytest.mark.parametrize(("unit", "border"), [("float64", 2.0**-43), ("float16", 2.0**-3), ("bfloat16", 1.0)])
def test_the_border_of_ill_conditioned_follows_the_type(unit, border):
    assert classify(row(0.0, unit, truth=(border, border))) == ROUNDING
    assert classify(row(0.0, unit, truth=(border, above(border)))) == ILL


# --- what is not finite, and what is constant


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"candidate": NANS}, BORN),
        ({"candidate": INFINITE}, BORN),
        ({"candidate": NANS, "reference": NANS}, BORN),
        ({"candidate": NANS, "inputs_finite": False}, WRONG),
        ({"candidate": NANS, "passed": True}, EQUAL),
        ({"reference": NANS}, WRONG),
        ({"candidate": HALVES}, CONSTANT),
        ({"reference": HALVES}, CONSTANT),
        ({"candidate": HALVES, "passed": True}, EQUAL),
        ({"candidate": HALVES, "reference": HALVES}, WRONG),
        ({"candidate": Figures(1.0, 1.0, count=1)}, WRONG),
        ({"candidate": Figures(1.0, 1.0, count=2)}, CONSTANT),
        ({"candidate": None}, WRONG),
    ],
)
def test_values_that_say_more_than_the_error(changes, verdict):
    assert classify(row(0.5, **changes)) == verdict


# --- whose error it is


@pytest.mark.parametrize(
    ("alone", "floor", "is_suspect"),
    [
        (2.0**-18, None, False),
        (above(2.0**-18), None, True),
        (2.0**-12, 2.0**-16, False),
        (above(2.0**-12), 2.0**-16, True),
    ],
)
def test_an_earlier_operator_is_to_blame_from_sixteen_times_its_floor_on(alone, floor, is_suspect):
    earlier, bad = row(own=own(alone, floor=floor)), row(0.5, own=own(0.0))
    assert origin_of([row(), earlier, row(own=own(2.0**-30))], bad) is (earlier if is_suspect else bad)


@pytest.mark.parametrize(
    ("alone", "is_innocent"),
    [
        (own(2.0**-8), True),
        (own(above(2.0**-8)), False),
        (own(2.0**-8, passed=False), False),
        (None, False),
    ],
)
def test_an_operator_is_innocent_if_it_makes_less_than_a_sixteenth_of_its_error(alone, is_innocent):
    earlier, bad = row(own=own(2.0**-10)), row(2.0**-4, own=alone)
    assert origin_of([earlier], bad) is (earlier if is_innocent else bad)


def test_of_several_suspects_the_one_with_the_largest_error_is_to_blame():
    suspects = [row(own=own(error)) for error in (2.0**-10, 2.0**-8, 2.0**-9)]
    assert origin_of(suspects, row(0.5, own=own(0.0))) is suspects[1]


# --- what is said


def said(bad, verdict, **changes):
    return sentence(Located("cand", "ref", first_bad=bad, verdict=verdict, rows=[bad], **changes))


@pytest.mark.parametrize(
    ("relative", "words"),
    [
        (2.0**-10, "as if calculated in float16 or TF32"),
        (above(2.0**-10), "as if calculated in bfloat16"),
        (2.0**-6, "as if calculated in bfloat16"),
        (above(2.0**-6), ""),
    ],
)
def test_an_error_as_of_a_coarser_type_names_the_type(relative, words):
    text = said(row(relative), WORSE)
    assert (words in text) if words else ("as if" not in text)


def test_a_coarse_type_that_was_asked_for_says_what_it_explains():
    assert "as if calculated" in said(row(2.0**-6, "float32"), WORSE)
    assert "where rounding explains 0.0078" in said(row(2.0**-6, "float16"), WORSE)


@pytest.mark.parametrize(
    ("relative", "alone", "says"),
    [
        (above(2.0**-4), 2.0**-8, True),
        (2.0**-4, 2.0**-8, False),
        (above(2.0**-20), 0.0, True),
        (2.0**-20, 0.0, False),
    ],
)
def test_an_operator_that_is_right_alone_amplifies(relative, alone, says):
    assert (
        "alone on the reference's tensors this operator is right" in said(row(relative, own=own(alone)), WRONG)
    ) is says


def test_an_operator_that_is_wrong_alone_is_said_to_be():
    assert said(row(0.5, own=own(0.5, passed=False)), WRONG).endswith(
        "alone on the reference's tensors it is wrong, too"
    )


@pytest.mark.parametrize(("candidate", "sides"), [(below(2.0**-12), True), (2.0**-12, False)])
def test_float64_sides_with_the_candidate_where_it_is_sixteen_times_closer(candidate, sides):
    bad = row(0.5, truth=(candidate, 2.0**-8))
    found = Located("cand", "ref", rows=[bad], finals=[OutputComparison(bad.tensor, bad.tensor, passed=False)])
    assert ("float64 sides with the candidate" in believed(found)) is sides


def test_the_figures_behind_a_verdict_end_with_what_rounding_explains():
    bad = row(0.5)
    assert explanation(Located("cand", "ref", first_bad=bad))[-1] == "rounding explains up to 3.81e-06 relative"
