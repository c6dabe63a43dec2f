"""Every decision of a search on its tensors and the threshold behind it; no prose, no running.

What is decided by probes and trials stands in `probing`.

Sources, named at each threshold:

- Higham: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002.
- Higham and Mary: A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019.
- measured: by `python -m truth.rounding` on 2026-11-22, ONNX Runtime 1.31 against the reference evaluator, both without
  a fault: MiniLM and the small architectures of `truth` in float32 and converted to float16, ResNet-50 in float32. A
  unit is what one operator may round, `operator_rounding`. The table is truth/rounding.md.
- choice: neither bounded nor measured, only weighed; `make truth` shows that its scenarios are judged rightly with it.
"""

from __future__ import annotations

import math

from polycmp.precision import UNITS, operator_rounding
from polycmp_locate.kinds import NORMALISING, READ_BESIDE_ONE, ROUNDED_ONCE, SELECTING
from polycmp_locate.pairing.parts import unit_inside
from polycmp_locate.result import Row, Standalone

#: An error up to this many times its noise floor is rounding. Higham and Mary bound what n roundings add up to by
#: lambda * sqrt(n) * u. Measured on single operators of real numbers: at most 6.6 units in float32 (the last Gemm of
#: ResNet-50; MiniLM 3.3, small architectures 2.2) and 2.8 in float16 (LSTM; MiniLM 1.4); in their place 4.8 and 2.8.
#: On tensors inside the model, over the root of their place: 2.3 and 1.9. Models with int8 inside are judged in steps
#: and not counted. 16 is a choice above the rest.
MARGIN = 16.0
#: An error that grows by more than this in one operator is looked at closely: a choice, which costs time and accuses
#: nobody. Operators of conditions around 1 let an error grow by less (Higham, section 1.6). Measured, it grows by up to
#: 11 in float32 (ResNet-50's Gemm) and by 48 in float16 (a LayerNormalization of MiniLM) without a fault.
JUMP = 8.0
#: Beyond this relative error not even eight bits of precision would explain it: bfloat16 rounds by 2**-8 (Higham,
#: section 2.1, unit roundoff of 8 bits); four of those is a choice.
BEYOND_EIGHT_BITS = 2.0**-6
#: Roundings that add up to more than this leave no digit of a tensor (choice).
NO_DIGIT_LEFT = 0.5
#: What an error looks like that a coarser type makes, by its size: a unit or two of 2**-11, or of 2**-8 (choice).
_COARSER_TYPES = ((2.0**-10, "float16 or TF32"), (BEYOND_EIGHT_BITS, "bfloat16"))
#: So many units of roundoff may a quotient x / scale be off: multiplying by the inverse scale makes two, and what is
#: quantised has a few of its own (Higham, section 2.2); how many is a choice.
TIE_WIDTH = 8.0
#: The same where all elements go in one direction, as a scale that was rounded to a coarse type makes them: x, scale
#: and quotient are rounded once each (Higham, section 2.2); one more is a choice.
TIE_WIDTH_ONE_SIDED = 4.0
#: Measured on the static int8 models of `truth`: biases that fused kernels quantise move x / scale by 0.004. A choice.
_TIE_STEPS = 2.0**-5
#: Ties are no more than this share of a tensor, however coarse the type of what was quantised: a third of the elements
#: lies on ties where one scale is twice another. More is a shift or another scale.
_TIES_AT_MOST = 1.0 / 3.0
#: So many elements that all differ in the same direction are no chance.
_SHIFTED_FROM = 16
#: Levels of an 8-bit tensor; a quotient x / scale has at most so many ties between neighbouring levels.
_LEVELS = 256.0
#: What one step of 8 bits may do to outputs: 2**-7 of the largest magnitude; steps add up like a random walk.
_STEP = 2.0**-7
#: Integer types that hold steps of a scale.
STEP_TYPES = frozenset({"int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16"})
#: How many units are left to operators that round nothing themselves (choice).
_SELECTION_MARGIN = 2.0
#: How many units are left to operators of coarse types that round once: two backends differ by at most a step, which is
#: two units (Higham, section 2.1), one rounding to nearest and one cutting off; twice that is a choice.
_ONCE_MARGIN = 4.0
#: An error of a whole row by the same factor is a fault from so many units on: rounding of elements is independent
#: (Higham and Mary), that of one factor makes half a unit. Measured without a fault: 0.4. A choice above that.
_GAIN_MARGIN = 4.0
#: From this magnitude on values may mask others; converters write -1e4 in place of -inf. A choice a little below.
_MASKING = 9e3
#: Values from this share of the largest on are large, and the others are far below if under that share (choice).
LARGE = 2.0**-4
FAR_BELOW = 2.0**-7
#: A value is at the limit of a type from this share of its largest number on: -3.4e38 lies beyond float16 and bfloat16,
#: and is -3.3895e38 rounded to bfloat16.
AT_LIMIT = 0.99
#: The smallest normal number of float32, 2**-126, over its unit roundoff, 2**-24: an error held against less would be
#: one of denormal numbers, which backends may flush to 0. That nothing smaller is ever meant is a choice. Those of
#: float16 have fewer digits, and nobody flushes them.
_VANISHING = 2.0**-102
_LEAST = {"float64": 0.0, "float16": 2.0**-14}


# --- one operator, fed with one side's tensors


def may_have_gain(row: Row) -> bool:
    """Return whether an error that is the same share of a whole row would be no rounding of a tensor's operator."""
    return row.unit > UNITS["float32"] and not row.in_steps and row.node.op_type not in NORMALISING


def is_gain(share: float, unit: float) -> bool:
    """Return whether that share is more than rounding in a type of this unit roundoff."""
    return share > _GAIN_MARGIN * unit


def least_scale(op_type: str, kind: str = "") -> float:
    """Return the least scale that an error of an operator's result is held against, as its readers see it.

    Args:
        op_type: The operator's type.
        kind: Element type and shape, as text.
    """
    return READ_BESIDE_ONE.get(op_type, _LEAST.get(kind.partition("[")[0], _VANISHING))


def may_mask(scale: float) -> bool:
    """Return whether values of this size may be there to mask others."""
    return scale >= _MASKING


def worth_running(unit: float) -> float:
    """Return the relative error up to which nothing needs an explanation in a type of this unit roundoff."""
    return MARGIN * operator_rounding(unit)


def operator_limit(row: Row) -> float:
    """Return the relative error of a tensor from which on its operator is run alone."""
    return _margin(row) * operator_rounding(row.unit)


def _margin(row: Row) -> float:
    if row.node.op_type in SELECTING:
        return _SELECTION_MARGIN
    own = row.unit > UNITS["float32"] and row.unit == UNITS.get(row.type.partition("[")[0])
    return _ONCE_MARGIN if own and row.node.op_type in ROUNDED_ONCE and not unit_inside(row.node) else MARGIN


def step_limit(unit: float) -> float:
    """Return by how many steps of a scale rounding in a type of this unit roundoff moves a quantised value.

    x, the scale and their quotient are rounded once each (Higham, section 2.2).
    """
    return max(1.0, float(math.ceil(4.0 * _LEVELS * unit)))


def tie_width(unit: float) -> float:
    """Return how far from a tie, in steps, a number may be of which a fused kernel makes another step."""
    return max(_TIE_STEPS, 4.0 * _LEVELS * unit)


def bounded_floor(reference_error: float, moved: float, unit: float) -> float:
    """Return how much of a reference's distance from float64 counts as noise floor.

    A stable operator's error is at most its condition times a small multiple of the unit roundoff (Higham, section
    1.6). The condition is measured by what one unit in the last place of the inputs moves; an error beyond that is a
    wrong reference, not rounding.

    Args:
        reference_error: The reference's distance from float64, relative.
        moved: How far the result in float64 moves with the inputs, relative.
        unit: Unit roundoff to judge by.
    """
    return min(reference_error, MARGIN * max(moved, operator_rounding(unit)))


def standalone_limit(row: Row) -> float:
    """Return which relative error of an operator alone rounding explains."""
    floor = row.standalone.floor if row.standalone is not None and row.standalone.floor is not None else 0.0
    return max(_margin(row) * floor, operator_limit(row)) if row.unit else 0.0


def is_tie(steps: float, share: float, count: int, unit: float, *, one_sided: bool = False) -> bool:
    """Return whether two quantised tensors differ by ties of rounding only.

    x / scale is off by a few units of roundoff of at most 256 levels, so only values that near to a tie may come out
    one step apart; with smooth values their share is that distance. A backend that rounds otherwise
    differs in far more.

    Args:
        steps: The largest difference, in steps of the scale.
        share: Which share of the elements differs.
        count: How many elements there are.
        unit: Unit roundoff of what was quantised.
        one_sided: Whether all that differ do so in the same direction, which rounding does not.
    """
    return steps <= step_limit(unit) and not one_sided and share <= ties_at_most(count, _LEVELS * MARGIN * unit)


def ties_at_most(count: int, share: float = math.inf) -> float:
    """Return which share of so many elements may be ties, if chance makes this share of them."""
    return max(1.0 / count if count else 0.0, min(share, _TIES_AT_MOST))


def is_one_sided(up: int, down: int) -> bool:
    """Return whether elements that went so many up and down are shifted, and not rounded."""
    return up + down >= _SHIFTED_FROM and min(up, down) * _SHIFTED_FROM < up + down


def standalone_is_rounding(row: Row) -> bool:
    """Return whether an operator, measured alone, does nothing that rounding does not explain."""
    alone = row.standalone
    if alone is None:
        return False
    if alone.steps is not None:
        return alone.steps.is_rounding
    if row.unit:
        return alone.relative <= standalone_limit(row) and not is_gain(alone.gain, row.unit)
    return alone.max_abs == 0.0 or alone.same_if_rounded or _ties_explain(row, alone)


def _ties_explain(row: Row, alone: Standalone) -> bool:
    if not row.in_steps or alone.max_abs > step_limit(row.input_unit):
        return False
    return alone.are_ties or is_tie(alone.max_abs, alone.share, alone.count, row.input_unit, one_sided=alone.one_sided)


def in_place_is_rounding(row: Row) -> bool:
    """Return whether the reference's operator makes of the candidate's tensors what the candidate made of them.

    Optimisers may use another kernel in the model than for the operator alone. Where the operator alone is right, what
    stands between quantised tensors may be quantised in its place, too: a bias, for example.
    """
    alone = row.standalone
    if alone is None or alone.in_place is None:
        return True
    if row.unit:
        limit = standalone_limit(row)
        if is_gain(alone.in_place_gain, row.unit):
            return False
        return alone.in_place <= (max(limit, worth_running(row.path_unit)) if standalone_is_rounding(row) else limit)
    return (
        alone.in_place == 0.0
        or alone.same_if_rounded
        or (row.in_steps and alone.in_place_steps <= step_limit(row.input_unit))
    )


def is_culprit(row: Row) -> bool:
    """Return whether an operator was measured and is wrong in its place, or alone where only that was measured."""
    alone = row.standalone
    if alone is None:
        return False
    if alone.in_place is None:
        return not standalone_is_rounding(row)
    if row.in_steps and not standalone_is_rounding(row):
        return alone.in_place > 0.0
    return not in_place_is_rounding(row)


def is_refuted(row: Row) -> bool:
    """Return whether float64 shows of an operator alone that it is the candidate's that is wrong, and not rounding.

    However the model amplifies or hides it, such an error is no rounding.
    """
    alone = row.standalone
    if alone is None or alone.candidate is None or alone.reference is None or not row.unit:
        return False
    limit = max(standalone_limit(row), BEYOND_EIGHT_BITS)
    return is_culprit(row) and alone.candidate > limit and alone.candidate > MARGIN * alone.reference


def is_right_alone(row: Row) -> bool:
    """Return whether an operator was measured and is right."""
    return row.standalone is not None and not is_culprit(row)


def reference_is_wrong(row: Row) -> bool:
    """Return whether it is the reference whose operator is further from float64 than rounding explains."""
    alone = row.standalone
    if alone is None or alone.reference is None or alone.candidate is None:
        return False
    return alone.reference > standalone_limit(row) and alone.candidate * MARGIN < alone.reference


def loses_digits(row: Row) -> bool:
    """Return whether float64 is further from the reference than the types on the way, quantised ones too, explain."""
    far = row.truth is not None and row.truth[1] > MARGIN * worth_running(max(row.unit, row.path_unit))
    return far and row.truth_passed is False


def sides_with_candidate(row: Row) -> bool:
    """Return whether the candidate is far closer to float64 than the reference."""
    return row.truth is not None and row.truth[0] * MARGIN < row.truth[1]


# --- the way through the model


def accumulated_limit(position: int, unit: float, moved: float) -> float:
    """Return which relative error of a tensor inside a model is still rounding.

    Roundings of independent sign add up with the square root of their number (Higham and Mary). What one unit in the
    last place of the inputs moves is the condition of the model (Higham, section 1.6).

    Args:
        position: How many operators came before.
        unit: Unit roundoff that the tensor is judged by.
        moved: How far the outputs move with the inputs, relative.
    """
    walk = MARGIN * operator_rounding(unit) * math.sqrt(position + 1)
    return max(MARGIN * moved, min(NO_DIGIT_LEFT, walk))


def quantisation_limit(quantised: int) -> float:
    """Return which relative error of a model's outputs ties in so many quantised tensors explain."""
    return min(NO_DIGIT_LEFT, 4.0 * _STEP * math.sqrt(quantised)) if quantised else 0.0


def is_off(row: Row, limit: float) -> bool:
    """Return whether a tensor is outside the tolerance, and by more than rounding explains.

    Args:
        row: The tensor.
        limit: What rounding explains at its place.
    """
    if row.passed or row.is_matched:
        return False
    if row.stats is None or not math.isfinite(row.relative):
        return True
    if not row.unit:
        return row.max_abs > 0.0
    return row.relative > limit


def needs_measuring(row: Row, limit: float) -> bool:
    """Return whether an operator has to be run alone before anything is said of it.

    Args:
        row: Its output.
        limit: What rounding explains at its place.
    """
    if row.is_matched:
        return False
    if row.stats is None:  # no number against number: the shapes differ
        return True
    if not row.unit:
        return row.max_abs > 0.0
    if is_beyond_range(row):
        return row.inputs_finite or is_new_nan(row) or is_lost_nan(row)
    if is_gain(row.gain, row.unit):
        return True
    if row.relative <= operator_limit(row):
        return False
    return row.jump > JUMP or is_off(row, limit)


def is_beyond_range(row: Row) -> bool:
    """Return whether a tensor holds infinities, NaN or saturated values, and the two sides differ at all."""
    sides = [side for side in (row.candidate, row.reference) if side is not None]
    return not row.is_matched and (row.is_saturated or any(not side.is_finite for side in sides))


def is_beyond_range_alike(row: Row) -> bool:
    """Return whether both sides are beyond the range at the same places, and all else is numbers."""
    return not row.is_saturated and row.stats is not None and math.isfinite(row.relative)


def is_new_nan(row: Row) -> bool:
    """Return whether the candidate makes NaN where the reference has a number."""
    mine, other = row.candidate, row.reference
    return mine is not None and mine.nan > (other.nan if other is not None else 0)


def is_lost_nan(row: Row) -> bool:
    """Return whether the candidate makes a number where the reference has NaN."""
    mine, other = row.candidate, row.reference
    return other is not None and other.nan > (mine.nan if mine is not None else 0)


def is_touched(row: Row) -> bool:
    """Return whether an output within the tolerance still shows more than the rounding of one operator."""
    return row.relative > worth_running(max(row.unit, row.path_unit))


def is_constant(row: Row) -> bool:
    """Return whether one side alone holds the same number everywhere."""
    mine, other = row.candidate, row.reference
    return mine is not None and other is not None and not row.passed and mine.is_constant != other.is_constant


def is_beyond_eight_bits(relative: float) -> bool:
    """Return whether an error is that of a wrong algorithm and not only of a coarse type."""
    return not relative <= BEYOND_EIGHT_BITS


def type_like(relative: float) -> str:
    """Return the type in which an error of this size looks to be calculated; empty if in none."""
    return next((name for limit, name in _COARSER_TYPES if relative <= limit), "")


def is_ill_conditioned(row: Row) -> bool:
    """Return whether both sides are far from float64 at a tensor outside the tolerance, and neither by far further.

    An error of more than 256 roundings of one operator, so far from what it can make itself, is the condition's
    (Higham, section 1.6: forward error is condition times backward error).
    """
    if row.truth is None or row.passed or not all(map(math.isfinite, row.truth)):
        return False
    of_candidate, of_reference = row.truth
    alike = of_candidate <= MARGIN * of_reference and of_reference <= MARGIN * of_candidate
    return alike and of_reference > MARGIN * MARGIN * operator_rounding(max(row.unit, row.path_unit))
