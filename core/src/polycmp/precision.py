"""Precision of the types of real numbers."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "BESIDE_ONE",
    "CUTTING",
    "HANDING_ON",
    "STEPS",
    "UNITS",
    "is_steps",
    "operator_rounding",
    "unit_of",
]

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
#: The same of types that hold steps of a scale, relative to the largest magnitude.
STEPS: Mapping[str, float] = {
    "int2": 0.25, "uint2": 0.25, "int4": 2.0**-4, "uint4": 2.0**-4, "int8": UNITS["int8"], "uint8": UNITS["int8"],
    "int16": 2.0**-16, "uint16": 2.0**-16,
}  # fmt: skip
#: Functions with results up to 1 that kernels approximate: errors have that scale however small the results are. Those
#: of recurrent operators are sums of such numbers, some of which cancel inside (1 - z of a GRU). Measured on 2026-11-29
#: on the emulator of Qualcomm's NPU, in units of float16: Sigmoid 1.4, Tanh 0.7, HardSigmoid 0.6.
BESIDE_ONE = frozenset({"Sigmoid", "HardSigmoid", "Tanh", "Erf", "GRU", "LSTM", "RNN"})
#: Operators that hand on numbers which they read, or some of them, and round none.
HANDING_ON = frozenset(
    {"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Slice", "Gather", "GatherND",
     "GatherElements", "Split", "Pad", "Expand", "Tile", "Relu", "Clip", "Max", "Min", "MaxPool", "GlobalMaxPool",
     "ReduceMax", "ReduceMin", "Where", "Neg", "Abs", "DepthToSpace", "SpaceToDepth", "TopK", "Compress", "Dropout"}
)  # fmt: skip
#: Those that only cut off what lies beyond a bound.
CUTTING = frozenset({"Relu", "Clip"})
#: However coarse a type is, a larger error in a single operator is no longer taken for rounding.
_COARSEST = 2.0**-6


def unit_of(kind: str) -> float:
    """Return the unit roundoff of a type, by its name; 0 for one that holds exact numbers."""
    return UNITS.get(kind, STEPS.get(kind, 0.0))


def is_steps(kind: str) -> bool:
    """Return whether a type holds steps of a scale."""
    return kind in STEPS


def operator_rounding(unit: float) -> float:
    """Return the bound on a single operator's relative error in a type of this unit roundoff.

    In float32 and wider types sums are formed in that type, so a few roundings add up. Narrower types are summed in
    float32 by all hardware that has them, so only what goes in and comes out is rounded.
    """
    return 4.0 * unit if unit <= UNITS["float32"] else min(unit, _COARSEST)
