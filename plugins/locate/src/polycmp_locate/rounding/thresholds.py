"""Thresholds of errors that are rounding: every one of a search, and its origin; no prose, no running.

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

from polycmp.precision import operator_rounding
from polycmp_locate.rounding.kinds import READ_BESIDE_ONE

#: An error up to this many times its noise floor is rounding. Higham and Mary bound what n roundings add up to by
#: lambda * sqrt(n) * u. Measured on single operators of real numbers: at most 6.6 units in float32 (the last Gemm of
#: ResNet-50; MiniLM 3.3, small architectures 2.2) and 2.8 in float16 (LSTM; MiniLM 1.4); in their place 4.8 and 2.8.
#: On tensors inside the model, over the root of their place: 2.3 and 1.9. Models with int8 inside are judged in steps
#: and not counted. 16 is a choice above the rest.
OPERATOR_MARGIN = 16.0
#: Beyond this relative error not even eight bits of precision would explain it: bfloat16 rounds by 2**-8 (Higham,
#: section 2.1, unit roundoff of 8 bits); four of those is a choice.
BEYOND_EIGHT_BITS = 2.0**-6
#: From this relative error on an operator is looked at closely, however many roundings came before (choice).
_ALWAYS_SUSPECT = 0.5
#: Size of an error that a coarser type makes: a unit or two of 2**-11, or of 2**-8 (choice).
_COARSER_TYPES = ((2.0**-10, "float16 or TF32"), (BEYOND_EIGHT_BITS, "bfloat16"))
#: So many units of roundoff may a quotient x / scale be off: x, scale and quotient are rounded once each (Higham,
#: section 2.2), as where a scale was rounded to a coarse type; one more is a choice.
TIE_WIDTH = 4.0
#: Ties are no more than this share of a tensor, however coarse the type of what was quantised: a third of the elements
#: lies on ties where one scale is twice another. More is a shift or another scale.
_TIES_AT_MOST = 1.0 / 3.0
#: So many elements that all differ in the same direction are no chance.
_SHIFTED_FROM = 16
#: Levels of an 8-bit tensor; a quotient x / scale has at most so many ties between neighbouring levels.
LEVELS = 256.0
#: Integer types that hold steps of a scale.
STEP_TYPES = frozenset({"int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16"})
#: An error of a whole row by the same factor is a fault from so many units on: rounding of elements is independent
#: (Higham and Mary), that of one factor makes half a unit. Measured without a fault: 0.4. A choice above that.
_GAIN_MARGIN = 4.0
#: A value is at the limit of a type from this share of its largest number on: -3.4e38 lies beyond float16 and bfloat16,
#: and is -3.3895e38 rounded to bfloat16.
AT_LIMIT = 0.99
#: The smallest normal number of float32, 2**-126, over its unit roundoff, 2**-24: an error divided by less would be
#: one of denormal numbers, which backends may flush to 0. That nothing smaller is ever meant is a choice. Those of
#: float16 have fewer digits, and are never flushed.
_VANISHING = 2.0**-102
_LEAST = {"float64": 0.0, "float16": 2.0**-14}


def is_gain(share: float, unit: float) -> bool:
    """Return whether that share is more than rounding in a type of this unit roundoff."""
    return share > _GAIN_MARGIN * unit


def least_scale(op_type: str, kind: str = "") -> float:
    """Return the least scale that an error of an operator's result is compared with, as its readers see it.

    Args:
        op_type: The operator's type.
        kind: Element type and shape, as text.
    """
    return READ_BESIDE_ONE.get(op_type, _LEAST.get(kind.partition("[")[0], _VANISHING))


def worth_running(unit: float) -> float:
    """Return the relative error up to which nothing needs an explanation in a type of this unit roundoff."""
    return OPERATOR_MARGIN * operator_rounding(unit)


def step_limit(unit: float) -> float:
    """Return by how many steps of a scale rounding in a type of this unit roundoff moves a quantised value.

    x, the scale and their quotient are rounded once each (Higham, section 2.2).
    """
    return max(1.0, float(math.ceil(4.0 * LEVELS * unit)))


def bounded_floor(reference_error: float, moved: float, unit: float) -> float:
    """Return the part of a reference's distance from float64 that counts as noise floor.

    A stable operator's error is at most its condition times a small multiple of the unit roundoff (Higham, section
    1.6). The condition is measured by what one unit in the last place of the inputs moves; an error beyond that is a
    wrong reference, not rounding.

    Args:
        reference_error: The reference's distance from float64, relative.
        moved: Change of the result in float64 when the inputs move, relative.
        unit: Unit roundoff to judge by.
    """
    return min(reference_error, OPERATOR_MARGIN * max(moved, operator_rounding(unit)))


def is_tie(steps: float, share: float, count: int, unit: float, *, one_sided: bool = False) -> bool:
    """Return whether two quantised tensors differ by ties of rounding only.

    x / scale is off by a few units of roundoff of at most 256 levels, so only values that near to a tie may come out
    one step apart; with smooth values their share is that distance. A backend that rounds otherwise
    differs in far more.

    Args:
        steps: The largest difference, in steps of the scale.
        share: Share of the elements that differ.
        count: Number of elements.
        unit: Unit roundoff of what was quantised.
        one_sided: Whether all that differ do so in the same direction, which rounding does not.
    """
    return steps <= step_limit(unit) and not one_sided and share <= ties_at_most(count, LEVELS * OPERATOR_MARGIN * unit)


def ties_at_most(count: int, share: float = math.inf) -> float:
    """Return the largest share of so many elements that may be ties, if chance makes this share of them."""
    return max(1.0 / count if count else 0.0, min(share, _TIES_AT_MOST))


def is_one_sided(up: int, down: int) -> bool:
    """Return whether elements that went so many up and down are shifted, and not rounded."""
    return up + down >= _SHIFTED_FROM and min(up, down) * _SHIFTED_FROM < up + down


# --- the way through the model


def accumulated_limit(position: int, unit: float) -> float:
    """Return the relative error up to which a tensor inside a model is not looked at closely; it accuses nobody.

    Roundings of independent sign add up with the square root of their number (Higham and Mary).

    Args:
        position: Number of operators that come before.
        unit: Unit roundoff that the tensor is judged by.
    """
    return min(_ALWAYS_SUSPECT, OPERATOR_MARGIN * operator_rounding(unit) * math.sqrt(position + 1))


def is_beyond_eight_bits(relative: float) -> bool:
    """Return whether an error is that of a wrong algorithm and not only of a coarse type."""
    return not relative <= BEYOND_EIGHT_BITS


def type_like(relative: float) -> str:
    """Return the type in which an error of this size looks to be calculated; empty if in none."""
    return next((name for limit, name in _COARSER_TYPES if relative <= limit), "")
