"""Rows of tensors as a search of `locate` has them, and the numbers on either side of a border.

Tests of rules write numbers out instead of taking them from the code, so that a changed constant fails.
"""

from __future__ import annotations

import math

from polycmp.compare import ErrorStats
from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.values.measured import Row, Standalone

FLOAT32, INT8 = UNITS["float32"], UNITS["int8"]
NUMBERS = Figures(-1.0, 1.0, count=4)
NANS = Figures(0.0, 1.0, nan=1, count=4)
INFINITE = Figures(0.0, 1.0, inf=1, count=4)


def above(value):
    """Return the next larger number."""
    return math.nextafter(value, math.inf)


def below(value):
    """Return the next number towards 0."""
    return math.nextafter(value, 0.0)


def alone(relative=0.0, **changes):
    """Return what an operator does alone."""
    return Standalone(relative, relative, passed=True, **{"count": 1000, **changes})


def row(relative=0.0, tensor="t", reads=(), op="Op", **changes):
    """Return the row of a float32 tensor outside the tolerances."""
    values = {
        "passed": False, "stats": ErrorStats(), "candidate": NUMBERS, "reference": NUMBERS, "relative": relative,
        "max_abs": relative, "unit": FLOAT32, "path_unit": FLOAT32, "jump": math.inf,
    }  # fmt: skip
    kind = changes.pop("type", "float32[4]")
    return Row(tensor, GraphNode(op, tensor, inputs=reads, outputs=(tensor,)), kind, **{**values, **changes})


def part(op="Mul", unit="float32", **changes):
    """Return the row of a tensor of a part of two models, of a type and far off."""
    values = {"unit": UNITS[unit], "coarsest": unit, **changes.pop("node", {})}
    return Row("t", PartNode(op, "t", **values), "float32[4]", relative=1.0, **changes)
