"""Reasons and values in words."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from polycmp.compare.verdicts import Worst
from polycmp.compare.words import as_scalar, kind_reason, passing_tolerances, shape_reason, show, worst_reason


@pytest.mark.parametrize(
    ("value", "scalar", "shown"),
    [
        (np.float32(0.1), float(np.float32(0.1)), "0.100000001"),
        (ml_dtypes.bfloat16(1.5), 1.5, "1.5"),
        (np.uint64(2**64 - 1), 2**64 - 1, "18446744073709551615"),
        (np.bool_(True), True, "True"),
        (1 + 2j, "(1+2j)", "(1+2j)"),
        ("text", "text", "text"),
    ],
)
def test_an_element_is_a_scalar_of_python(value, scalar, shown):
    assert as_scalar(value) == scalar
    assert type(as_scalar(value)) is type(scalar)
    assert show(as_scalar(value)) == shown


@pytest.mark.parametrize(
    ("required", "words"),
    [
        ((0.5, 0.25), "atol 0.5 or rtol 0.25"),
        ((0.5, 2.0), "atol 0.5"),  # beyond 1 it lets anything pass that has the right sign
        ((math.inf, 0.25), "rtol 0.25"),
        ((math.inf, math.inf), ""),
        ((1 / 3, math.inf), "atol 0.33333"),
    ],
)
def test_tolerances_that_would_pass_are_named_where_they_mean_something(required, words):
    assert passing_tolerances(*required) == words


def test_reasons_name_both_sides():
    a, b = np.zeros((2, 3), np.int8), np.zeros((3, 2), np.float32)
    assert shape_reason(a, b) == "shape [2,3] instead of [3,2]"
    assert kind_reason(a, b) == "holds int8 instead of float32: integer is not float"
    assert worst_reason(Worst((1, 2), 0.5, -1.0)) == "the worst at [1,2]: 0.5 instead of -1"
    assert worst_reason(Worst((), 3, 4)) == "the worst: 3 instead of 4"
