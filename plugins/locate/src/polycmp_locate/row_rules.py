"""Every decision of a search on its tensors, from figures alone; the thresholds are in `rounding.thresholds`.

Decisions by probes and trials are in `trials.probing`.
"""

from __future__ import annotations

import math

from polycmp.precision import UNITS, operator_rounding
from polycmp_locate.pairing.parts import PartNode, unit_inside
from polycmp_locate.rounding.kinds import NORMALISING, ROUNDED_ONCE, SELECTING
from polycmp_locate.rounding.thresholds import (
    BEYOND_EIGHT_BITS,
    OPERATOR_MARGIN,
    is_gain,
    is_tie,
    step_limit,
    worth_running,
)
from polycmp_locate.values.measured import Row, Standalone
from polycmp_locate.values.swept import SweptRow

#: An error that grows by more than this in one operator is looked at closely: a choice, which costs time and accuses
#: nobody. Operators of conditions around 1 let an error grow by less (Higham, section 1.6). Measured, it grows by up to
#: 11 in float32 (ResNet-50's Gemm) and by 48 in float16 (a LayerNormalization of MiniLM) without a fault.
JUMP = 8.0
#: Number of units allowed to operators that round nothing themselves (choice).
_SELECTION_MARGIN = 2.0
#: Number of units allowed to operators of coarse types that round once: two backends differ by at most a step, which is
#: two units (Higham, section 2.1), one rounding to nearest and one cutting off; twice that is a choice.
_ONCE_MARGIN = 4.0


# --- one operator, fed with one side's tensors


def may_have_gain(row: SweptRow) -> bool:
    """Return whether an error that is the same share of a whole row would be no rounding of a tensor's operator."""
    return row.unit > UNITS["float32"] and not row.in_steps and row.node.op_type not in NORMALISING


def operator_limit(row: SweptRow) -> float:
    """Return the relative error of a tensor from which on its operator is run alone."""
    return _margin(row) * operator_rounding(row.unit)


def _margin(row: SweptRow) -> float:
    if row.node.op_type in SELECTING:
        return _SELECTION_MARGIN
    is_of_its_type = row.unit > UNITS["float32"] and row.unit == UNITS.get(row.type.partition("[")[0])
    return (
        _ONCE_MARGIN
        if is_of_its_type and row.node.op_type in ROUNDED_ONCE and not unit_inside(row.node)
        else OPERATOR_MARGIN
    )


def standalone_limit(row: Row) -> float:
    """Return the largest relative error of an operator alone that rounding explains."""
    floor = row.standalone.floor if row.standalone is not None and row.standalone.floor is not None else 0.0
    return max(_margin(row) * floor, operator_limit(row)) if row.unit else 0.0


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


def is_clipped(row: Row) -> bool:
    """Return whether all that an operator does wrong alone is to cut numbers off at the ends of a range of steps."""
    steps = row.standalone.steps if row.standalone is not None else None
    return steps is not None and steps.is_clipped


def _ties_explain(row: Row, alone: Standalone) -> bool:
    if not row.in_steps or alone.max_abs > step_limit(row.input_unit):
        return False
    return alone.are_ties or is_tie(alone.max_abs, alone.share, alone.count, row.input_unit, one_sided=alone.one_sided)


def is_tied(row: Row) -> bool:
    """Return whether steps of a scale whose operator was not measured are off by ties of rounding only."""
    if row.standalone is not None or not row.in_steps or row.stats is None or not row.stats.count:
        return False
    return is_tie(row.max_abs, row.stats.failed / row.stats.count, row.stats.count, row.input_unit)


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
        or (alone.is_decided_otherwise and standalone_is_rounding(row))
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
    return is_culprit(row) and alone.candidate > limit and alone.candidate > OPERATOR_MARGIN * alone.reference


def is_right_alone(row: Row) -> bool:
    """Return whether an operator was measured and is right."""
    return row.standalone is not None and not is_culprit(row)


def reference_is_wrong(row: Row) -> bool:
    """Return whether it is the reference whose operator is further from float64 than rounding explains."""
    alone = row.standalone
    if alone is None or alone.reference is None or alone.candidate is None:
        return False
    return alone.reference > standalone_limit(row) and alone.candidate * OPERATOR_MARGIN < alone.reference


def loses_digits(row: SweptRow) -> bool:
    """Return whether float64 is further from the reference than the types on the way, quantised ones too, explain."""
    far = row.truth is not None and row.truth[1] > OPERATOR_MARGIN * worth_running(max(row.unit, row.path_unit))
    return far and row.truth_passed is False


def sides_with_candidate(row: SweptRow) -> bool:
    """Return whether the candidate is far closer to float64 than the reference."""
    return row.truth is not None and row.truth[0] * OPERATOR_MARGIN < row.truth[1]


def is_off(row: SweptRow, limit: float) -> bool:
    """Return whether a tensor is outside the tolerance, and by more than rounding explains.

    Args:
        row: The tensor.
        limit: Largest error that rounding explains at its position.
    """
    if row.passed or row.is_matched:
        return False
    if row.stats is None or not math.isfinite(row.relative):
        return True
    if not row.unit:
        return row.max_abs > 0.0
    return row.relative > limit


def needs_measuring(row: SweptRow, limit: float) -> bool:
    """Return whether an operator has to be run alone before it is judged.

    Args:
        row: Row of the operator's output.
        limit: Largest error that rounding explains at its position.
    """
    if row.is_matched:
        return False
    if row.stats is None:  # no number against number: the shapes differ
        return True
    if not row.unit:
        return row.max_abs > 0.0
    if is_beyond_range(row):
        return row.inputs_finite or differs_beyond_range(row)
    if is_gain(row.gain, row.unit):
        return True
    if row.relative <= operator_limit(row):
        return False
    return row.jump > JUMP or is_off(row, limit)


def is_beyond_range(row: SweptRow) -> bool:
    """Return whether a tensor holds infinities, NaN or saturated values, and the two sides differ at all."""
    sides = [side for side in (row.candidate, row.reference) if side is not None]
    return not row.is_matched and (row.is_saturated or any(not side.is_finite for side in sides))


def differs_beyond_range(row: SweptRow) -> bool:
    """Return whether infinities, NaN or saturated values of the two sides are not at the same places."""
    is_alike = not row.is_saturated and row.stats is not None and math.isfinite(row.relative)
    return is_beyond_range(row) and not is_alike


def is_new_nan(row: SweptRow) -> bool:
    """Return whether the candidate makes NaN where the reference has a number."""
    of_candidate, of_reference = row.candidate, row.reference
    return of_candidate is not None and of_candidate.nan > (of_reference.nan if of_reference is not None else 0)


def needs_explaining(row: SweptRow) -> bool:
    """Return whether the two sides differ in a tensor by more than one operator rounds."""
    return (row.stats is None or row.relative > worth_running(row.unit)) and not row.is_matched


def is_constant(row: SweptRow) -> bool:
    """Return whether one side alone holds the same number everywhere."""
    of_candidate, of_reference = row.candidate, row.reference
    return (
        of_candidate is not None
        and of_reference is not None
        and not row.passed
        and of_candidate.is_constant != of_reference.is_constant
    )


def is_ill_conditioned(row: SweptRow) -> bool:
    """Return whether both sides are far from float64 at a tensor outside the tolerance, and neither by far further.

    An error of more than 256 roundings of one operator, so far from what it can make itself, is the condition's
    (Higham, section 1.6: forward error is condition times backward error).
    """
    if row.truth is None or row.passed or not all(map(math.isfinite, row.truth)):
        return False
    of_candidate, of_reference = row.truth
    alike = of_candidate <= OPERATOR_MARGIN * of_reference and of_reference <= OPERATOR_MARGIN * of_candidate
    return alike and of_reference > OPERATOR_MARGIN * OPERATOR_MARGIN * operator_rounding(max(row.unit, row.path_unit))


def rounds_on_the_way(row: SweptRow) -> bool:
    """Return whether a tensor's part rounds real numbers to steps of a scale."""
    return isinstance(row.node, PartNode) and row.node.quantised and bool(row.unit)
