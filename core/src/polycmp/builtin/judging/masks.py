"""Numbers that only mask others, as attention adds them: the one definition of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.levels import cuts, magnitudes
from polycmp.tensors import dtype_class

#: From this magnitude on negative numbers may mask others; converters write -1e4 in place of -inf (a choice a little
#: below).
MASKING = 9e3
#: Masks are so many times as large as anything beside them (choice: seven bits, what is left of bfloat16 beside it).
_FAR = 2.0**7


def beside_masks(candidate: NDArray[Any], reference: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return a mask of the numbers beside those that mask others on both sides; None where none do.

    Infinite numbers and the lowest ones of a type mask others, too, and converters replace them by each other.

    Args:
        candidate: A tensor.
        reference: The other, of the same shape.
    """
    if not reference.size or {dtype_class(candidate.dtype), dtype_class(reference.dtype)} != {"float"}:
        return None
    if not (float(reference.min()) <= -MASKING and float(candidate.min()) <= -MASKING):
        return None
    rest = ~((reference <= -MASKING) & (candidate <= -MASKING))
    if not rest.any():
        return None
    largest = max(_largest(reference, rest), _largest(candidate, rest))
    return rest if 0.0 < largest * _FAR <= MASKING else None


def _largest(array: NDArray[Any], where: NDArray[np.bool_]) -> float:
    """Return the largest finite magnitude."""
    return max(
        (float(magnitudes(array[cut][where[cut]]).max(initial=0.0)) for cut, _ in cuts(array.shape)), default=0.0
    )
