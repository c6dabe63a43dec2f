"""Figures of one tensor: its range, its non-finite numbers, whether it is constant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.precision import UNITS, is_steps
from polycmp.tensors import as_dtype, dtype_class, dtype_of, is_floating, is_low_bit, number_info, to_numpy


@dataclass(frozen=True)
class Figures:
    """One tensor in a few numbers.

    Attributes:
        low: Smallest finite value.
        high: Largest finite value.
        nan: Number of NaNs.
        inf: Number of infinities.
        count: Elements.
    """

    low: float = 0.0
    high: float = 0.0
    nan: int = 0
    inf: int = 0
    count: int = 0

    @property
    def scale(self) -> float:
        """The largest finite magnitude."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_finite(self) -> bool:
        """Whether all of it is finite."""
        return not (self.nan or self.inf)

    @property
    def is_constant(self) -> bool:
        """Whether it holds one number only, several times."""
        return self.count > 1 and self.is_finite and self.low == self.high

    def __str__(self) -> str:
        parts = [f"{self.low:.4g} to {self.high:.4g}"] if self.count > self.nan + self.inf else []
        parts += [f"{self.nan} NaN"] if self.nan else []
        parts += [f"{self.inf} infinite"] if self.inf else []
        return ", ".join(parts) or "empty"


def figures(tensor: Any) -> Figures | None:
    """Return the figures of a tensor of real numbers, integers or truth values; None for anything else."""
    array = to_numpy(tensor)
    if dtype_class(dtype_of(array)) not in {"float", "integer", "bool"}:
        return None
    if is_low_bit(array.dtype):
        array = array.astype(np.float32)
    if not array.size:
        return Figures()
    with np.errstate(all="ignore"):
        low, high = float(array.min()), float(array.max())
        if math.isfinite(low) and math.isfinite(high):
            return Figures(low, high, count=array.size)
        finite = np.isfinite(array)
        nan = int(np.count_nonzero(np.isnan(array)))
        left = int(np.count_nonzero(finite))
        if left:
            low = float(np.min(array, where=finite, initial=np.inf))
            high = float(np.max(array, where=finite, initial=-np.inf))
    return Figures(low if left else 0.0, high if left else 0.0, nan, array.size - nan - left, array.size)


def figures_of(tensors: Mapping[str, Any]) -> dict[str, Figures]:
    """Return the figures of the tensors that have some, by name."""
    return {name: value for name, tensor in tensors.items() if (value := figures(tensor)) is not None}


def largest_of(name: str) -> float:
    """Return the largest finite number of a type of real numbers, by its name; infinite for steps of a scale."""
    if is_steps(name):
        return math.inf
    if name == "tf32":
        name = "float32"
    return float(number_info(as_dtype(name)).max)


def rounding(tensor_type: np.dtype[Any]) -> float:
    """Return the unit roundoff of a type of real numbers; 0 for types that hold exact numbers."""
    return UNITS.get(tensor_type.name, UNITS["float32"]) if is_floating(tensor_type) else 0.0


#: A row's error is a gain if the row itself explains this share of its variance; so many elements have to make up the
#: row (Kish's effective sample size). Of independent errors no row explains that much: the correlation of 16 with
#: anything exceeds 0.95 with a probability of 1e-8.
_EXPLAINED, _ENOUGH = 0.9, 16.0


def gain(actual: Any, expected: Any) -> float:
    """Return the largest share by which a whole row, along the first axis, is off alike; 0 if none is.

    Args:
        actual: A tensor of real numbers.
        expected: The one to believe, of the same shape.
    """
    if not expected.size:
        return 0.0
    rows = expected.shape[0] if expected.ndim > 1 else 1
    x, error = (array.reshape(rows, -1).astype(np.float64) for array in (expected, actual))
    with np.errstate(all="ignore"):
        error = error - x
        of_x, of_error, both = (x * x).sum(axis=1), (error * error).sum(axis=1), (x * error).sum(axis=1)
        slope = np.abs(both) / of_x
        good = (both * both >= _EXPLAINED * of_x * of_error) & (of_x * of_x >= _ENOUGH * (x**4).sum(axis=1))
        gains = slope[good & np.isfinite(slope)]
    return float(gains.max(initial=0.0))


def dot(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return the sum of the products of two rows of numbers.

    BLAS would share each such sum among threads, and wait for them: on a busy machine that takes many times as long.
    """
    return float(np.einsum("i,i->", one, two))


#: A factor is one of a whole tensor if it makes at least this share of the error, root mean square (choice).
_SYSTEMATIC = 0.5


def whole_gain(actual: Any, expected: Any) -> float:
    """Return the share by which a whole tensor is off alike, if that makes half of its error or more; 0 if not.

    Args:
        actual: A tensor of real numbers.
        expected: The one to believe, of the same shape.
    """
    if expected.size < _ENOUGH:
        return 0.0
    x, error = expected.reshape(-1).astype(np.float64), actual.reshape(-1).astype(np.float64)
    with np.errstate(all="ignore"):
        error = error - x
        of_x, of_error, both = dot(x, x), dot(error, error), dot(x, error)
    if not (math.isfinite(of_error) and 0.0 < of_x < math.inf) or both * both < _SYSTEMATIC**2 * of_x * of_error:
        return 0.0
    return abs(both) / of_x


def row_gain(actual: Any, expected: Any) -> float:
    """Return the larger of `gain` and `whole_gain`; 0 for tensors of different shapes.

    Args:
        actual: A tensor of real numbers.
        expected: The one to believe.
    """
    return max(gain(actual, expected), whole_gain(actual, expected)) if actual.shape == expected.shape else 0.0
