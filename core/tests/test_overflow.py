"""Remarks on numbers beyond a model's type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.runner import overflow_remark

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
