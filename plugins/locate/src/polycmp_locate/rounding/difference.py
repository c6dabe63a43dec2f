"""Distance of two tensors, relative to their content."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import to_numpy

#: Elements to look at in one go, so that a large tensor takes no more memory than a small one.
PIECE = 1 << 16


def distance(one: Any, two: Any, least: float = 0.0) -> float:
    """Return the largest difference of two tensors over the largest magnitude of the second; infinite if unlike.

    Where both are not finite in the same way they agree.

    Args:
        one: A tensor.
        two: The one to believe.
        least: The least scale to hold a difference against.
    """
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape:
        return math.inf
    if not a.size or a.dtype == object:
        return 0.0
    flat, other = a.reshape(-1), b.reshape(-1)
    pieces = [_gap(flat[at : at + PIECE], other[at : at + PIECE]) for at in range(0, a.size, PIECE)]
    return relative_to(max(gap for gap, _ in pieces), max(least, *(scale for _, scale in pieces)))


def _gap(one: NDArray[Any], two: NDArray[Any]) -> tuple[float, float]:
    """Return the largest difference in a piece of two tensors, and the largest finite magnitude in the second."""
    a, b = one.astype(np.float64), two.astype(np.float64)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
    gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    gap[np.isnan(gap)] = np.inf
    finite = np.abs(b[np.isfinite(b)])
    return float(gap.max()), float(finite.max()) if finite.size else 0.0


def relative_to(error: float, scale: float) -> float:
    """Return an error divided by a scale; 0 stays 0 at any scale."""
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else math.inf


def coarser(of_type: float, allowed: float) -> float:
    """Return the unit roundoff to judge by; types that hold exact numbers are never rounded."""
    return max(of_type, allowed) if of_type else 0.0
