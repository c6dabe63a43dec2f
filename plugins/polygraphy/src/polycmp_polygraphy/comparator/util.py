"""Figures of arrays under the names of `polygraphy.comparator.util`: 0 where there is nothing to count."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

_Figure = Callable[..., Any]


def _zero_on_empty(figure: _Figure) -> _Figure:
    @wraps(figure)
    def of_any(buffer: Any, *arguments: Any) -> Any:
        return figure(buffer, *arguments) if np.size(buffer) else 0

    return of_any


@_zero_on_empty
def compute_max(buffer: Any) -> Any:
    """Return the largest element."""
    return np.amax(buffer)


@_zero_on_empty
def compute_argmax(buffer: Any) -> Any:
    """Return the index of the largest element."""
    return np.unravel_index(np.argmax(buffer), np.shape(buffer))


@_zero_on_empty
def compute_min(buffer: Any) -> Any:
    """Return the smallest element."""
    return np.amin(buffer)


@_zero_on_empty
def compute_argmin(buffer: Any) -> Any:
    """Return the index of the smallest element."""
    return np.unravel_index(np.argmin(buffer), np.shape(buffer))


@_zero_on_empty
def compute_mean(buffer: Any) -> Any:
    """Return the mean."""
    return np.mean(buffer, dtype=np.float64)


@_zero_on_empty
def compute_std(buffer: Any) -> Any:
    """Return the standard deviation."""
    return np.std(buffer, dtype=np.float64)


@_zero_on_empty
def compute_variance(buffer: Any) -> Any:
    """Return the variance."""
    return np.var(buffer, dtype=np.float64)


@_zero_on_empty
def compute_median(buffer: Any) -> Any:
    """Return the median."""
    return np.median(buffer)


@_zero_on_empty
def compute_quantile(buffer: Any, q: float) -> Any:
    """Return a quantile."""
    return np.quantile(buffer, q)


@_zero_on_empty
def compute_average_magnitude(buffer: Any) -> Any:
    """Return the mean of the absolute values."""
    return np.mean(np.abs(buffer), dtype=np.float64)
