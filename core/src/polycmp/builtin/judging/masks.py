"""Numbers that only mask others, as attention adds them: the one definition of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.levels import cuts, magnitudes
from polycmp.compare import wide
from polycmp.tensors import dtype_class

#: From this magnitude on negative numbers may mask others; converters write -1e4 in place of -inf (a choice a little
#: below).
MASKING = 9e3
#: Masks are so many times as large as anything beside them (choice: seven bits, what is left of bfloat16 beside it).
_FAR = 2.0**7
#: Magnitudes that tools write as masks: infinity, the largest numbers of float64, float32, bfloat16, float16 and
#: float8_e5m2, and 1e4.
MASKS = (
    math.inf,
    float(np.finfo(np.float64).max),
    float(np.finfo(np.float32).max),
    3.3895313892515355e38,
    65504.0,
    57344.0,
    1e4,
)


def beside_masks(candidate: NDArray[Any], reference: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return a mask of the numbers beside those that mask others on both sides; None where none do.

    Infinite numbers and the lowest ones of a type mask others, too, and converters replace them by each other. Beside
    nothing but zeros, as in a mask itself, only the numbers that tools write as masks are some.

    Args:
        candidate: A tensor.
        reference: The other, of the same shape.
    """
    if not reference.size or {dtype_class(candidate.dtype), dtype_class(reference.dtype)} != {"float"}:
        return None
    if not (float(reference.min()) <= -MASKING and float(candidate.min()) <= -MASKING):
        return None
    masking = (reference <= -MASKING) & (candidate <= -MASKING)
    rest = ~masking
    if not rest.any():
        return None
    largest = max(_largest(reference, rest), _largest(candidate, rest))
    if not largest:
        return rest if _are_masks(reference[masking]) and _are_masks(candidate[masking]) else None
    return rest if largest * _FAR <= MASKING else None


def _are_masks(array: NDArray[Any]) -> bool:
    """Return whether all numbers of a tensor are such as tools write as masks, rounded to its type."""
    with np.errstate(over="ignore"):
        written = wide(np.array(MASKS).astype(array.dtype))
    return bool(np.isin(np.abs(wide(array)), written).all())


def _largest(array: NDArray[Any], where: NDArray[np.bool_]) -> float:
    """Return the largest finite magnitude."""
    return max(
        (float(magnitudes(array[cut][where[cut]]).max(initial=0.0)) for cut, _ in cuts(array.shape)), default=0.0
    )
