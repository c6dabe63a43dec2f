"""Reasons in words, and values as a report shows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.verdicts import Worst
from polycmp.tensors import dtype_class, dtype_name, format_shape

Scalar = float | int | str | bool


def shape_reason(candidate: NDArray[Any], reference: NDArray[Any]) -> str:
    """Return in words that two shapes differ."""
    return f"shape {format_shape(candidate.shape)} instead of {format_shape(reference.shape)}"


def kind_reason(candidate: NDArray[Any], reference: NDArray[Any]) -> str:
    """Return in words that two arrays hold different kinds of things."""
    names = dtype_name(candidate.dtype), dtype_name(reference.dtype)
    kinds = dtype_class(candidate.dtype), dtype_class(reference.dtype)
    return f"holds {names[0]} instead of {names[1]}: {kinds[0]} is not {kinds[1]}"


def as_scalar(value: Any) -> Scalar:
    """Return an element as a Python scalar; complex numbers and text as text."""
    kind = dtype_class(np.asarray(value).dtype)
    if kind == "float":
        return float(value)
    if kind == "integer":
        return int(value)
    return bool(value) if kind == "bool" else str(value)


def show(value: Scalar) -> str:
    """Return a value with as many digits as float32 has."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def at_index(index: tuple[int, ...]) -> str:
    """Return ` at [i,j]`, or nothing for a scalar."""
    return f" at {format_shape(index)}" if index else ""


def passing_tolerances(required_abs: float, required_rel: float) -> str:
    """Name the absolute and the relative tolerance that would pass, each alone; empty where neither would.

    A relative tolerance above 1 lets anything pass that has the right sign, so it is not reported, unless it is all
    there is.
    """
    needed = [("atol", required_abs), ("rtol", required_rel)]
    some = [(name, value) for name, value in needed if math.isfinite(value) and (name == "atol" or value <= 1.0)]
    return " or ".join(f"{name} {value:.5g}" for name, value in some)


def worst_reason(worst: Worst) -> str:
    """Describe the position of the worst element, with both values."""
    return f"the worst{at_index(worst.index)}: {show(worst.candidate)} instead of {show(worst.reference)}"
