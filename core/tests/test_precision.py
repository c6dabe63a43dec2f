"""How coarse types are, and what a backend says of the type that it calculates in."""

from __future__ import annotations

import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from polycmp.precision import UNITS, operator_rounding
from polycmp.spec import RunnerTools

REAL_TYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("name", REAL_TYPES)
def test_a_unit_is_the_largest_relative_error_of_rounding_to_nearest(name):
    assert UNITS[name] == float(ml_dtypes.finfo(REAL_TYPES[name]).eps) / 2


def test_units_of_what_numpy_does_not_have():
    assert set(UNITS) - set(REAL_TYPES) == {"tf32", "int8"}
    assert UNITS["tf32"] == UNITS["float16"] == 2.0**-11
    assert UNITS["int8"] == pytest.approx(0.5 / 127, rel=0.01)


@pytest.mark.parametrize(
    ("unit", "error"),
    [
        (2.0**-53, 2.0**-51),
        (2.0**-24, 2.0**-22),
        (math.nextafter(2.0**-24, 1), math.nextafter(2.0**-24, 1)),
        (2.0**-11, 2.0**-11),
        (2.0**-8, 2.0**-8),
        (2.0**-6, 2.0**-6),
        (math.nextafter(2.0**-6, 1), 2.0**-6),
        (2.0**-3, 2.0**-6),
        (0.0, 0.0),
    ],
)
def test_what_one_operator_may_be_off(unit, error):
    assert operator_rounding(unit) == error


@pytest.mark.parametrize(
    ("narrows", "options", "allowed"),
    [
        ({}, {"fp16": True}, ""),
        ({"fp16": "float16"}, {"fp16": True}, "float16"),
        ({"fp16": "float16"}, {"fp16": False}, ""),
        ({"fp16": "float16", "int8": "int8"}, {"fp16": True, "int8": True}, "int8"),
        ({"tf32": "tf32", "fp8": "float8_e4m3fn"}, {"tf32": True, "fp8": False}, "tf32"),
        ({"dtype": ""}, {"dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": ""}, {"dtype": ""}, ""),
        ({"dtype": ""}, {"dtype": "float3"}, ""),
        ({"gone": "float16"}, {}, ""),
    ],
)
def test_the_coarsest_type_that_options_allow(narrows, options, allowed):
    tools = RunnerTools()
    tools.narrows = tuple(narrows.items())
    assert tools.precision(None, SimpleNamespace(**options)) == allowed
