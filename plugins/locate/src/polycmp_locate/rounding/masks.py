"""Numbers that are so large that they only mask others, as attention adds them, told from the numbers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp_locate.rounding.thresholds import FAR_BELOW, LARGE, may_mask


def beside_masks(values: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Return a mask of the numbers beside others that mask; None where there are none, or only 0 is beside them.

    Args:
        values: A flat tensor of real numbers; what is infinite or NaN masks, or is no number.
    """
    size = np.abs(values)
    finite = np.isfinite(size)
    largest = float(size.max(initial=0.0, where=finite))
    if not may_mask(largest) and finite.all():
        return None
    rest = finite & (size < largest * LARGE if may_mask(largest) else finite)
    below = float(size.max(initial=0.0, where=rest))
    return rest if below > 0.0 and (not may_mask(largest) or below < largest * FAR_BELOW) else None
