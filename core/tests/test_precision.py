"""How coarse types are, and what a backend says of the type that it calculates in."""

from __future__ import annotations

import math
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from polycmp.precision import UNITS, operator_rounding, overflow_remark
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


BEYOND = {"y": np.array([1.0, np.inf, np.nan], np.float32)}
FED = [np.ones(3, np.float32), np.array([1])]


def test_a_number_beyond_the_type_is_told_as_float64_makes_it():
    wide = {"y": np.array([1.0, 1e40, np.inf])}
    remark = overflow_remark(FED, BEYOND, lambda: wide, "another leaves it out")
    assert remark is not None
    assert "beyond float32: 1 of 3 elements of 'y' are infinite or NaN here, of which float64 makes 1e+40" in remark
    assert "; another leaves it out, so a run that holds what float64 makes is not wrong" in remark


def test_a_number_beyond_bfloat16_is_told_too():
    held = {"y": np.array([np.inf], ml_dtypes.bfloat16)}
    assert "beyond bfloat16" in (overflow_remark(FED, held, lambda: {"y": np.array([1e39])}, "") or "")


@pytest.mark.parametrize(
    "wide", [{}, {"y": np.array([1.0, np.inf, np.nan])}, {"y": np.ones(2)}, {"y": np.ones(3, np.float32)}]
)
def test_nothing_is_told_where_float64_makes_no_number_either(wide):
    assert overflow_remark(FED, BEYOND, lambda: wide, "") == ""


def test_a_model_that_has_no_float64_is_no_error():
    def fails():
        raise ValueError("no such kernel")

    assert overflow_remark(FED, BEYOND, fails, "") == ""


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ([np.array([np.inf], np.float32)], BEYOND),
        (FED, {"y": np.ones(3, np.float32), "n": np.array([1]), "text": np.array(["inf"])}),
    ],
)
def test_float64_is_not_asked_of_infinite_inputs_or_finite_outputs(inputs, outputs):
    asked = []
    assert overflow_remark(inputs, outputs, lambda: asked.append(1) or {}, "") is None
    assert not asked
