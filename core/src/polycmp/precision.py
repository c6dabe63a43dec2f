"""How coarse the types of real numbers are, and which of them a backend may calculate in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Unit roundoff by type: half the distance from 1 to the next number. For int8 it is half a step of a symmetric scale,
#: relative to the largest magnitude.
UNITS: Mapping[str, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "tf32": 2.0**-11,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "int8": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
#: However coarse a type is, a larger error in a single operator is no longer taken for rounding.
_COARSEST = 2.0**-6


def allowed_precision(narrows: Mapping[str, str], options: Any) -> str:
    """Return the coarsest type that a backend's options let it calculate in; empty if they say nothing of it.

    Args:
        narrows: Option field -> the type that it allows, or an empty text where the field's value is the type.
        options: The backend's options.
    """
    values = {field: getattr(options, field, None) for field in narrows}
    allowed = [narrows[field] or str(value) for field, value in values.items() if value]
    return max((name for name in allowed if name in UNITS), key=UNITS.__getitem__, default="")


def operator_rounding(unit: float) -> float:
    """Return which relative error a single operator may make in a type of this unit roundoff.

    In float32 and wider types sums are formed in that type, so a few roundings add up. Narrower types are summed in
    float32 by all hardware that has them, so only what goes in and comes out is rounded.
    """
    return 4.0 * unit if unit <= UNITS["float32"] else min(unit, _COARSEST)
