"""Finding out that tensors are equal, which is far quicker than by how much they differ."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from polycmp.compare.blocks import BLOCK, Pair, for_each_block

Array = NDArray[Any]

#: Elements compared at once: no buffers have to fit the cache, too, and threads wait less for each other
#: than with smaller blocks.
_SPAN = 4 * BLOCK


def scale_if_equal(candidate: Array, reference: Array) -> float | None:
    """Return the largest magnitude of two blocks that are finite and equal, else None."""
    if candidate.dtype != reference.dtype or candidate.dtype.kind not in "fiub":
        return None
    if not candidate.size or not bool((candidate == reference).all()):
        return None
    scale = max(abs(float(candidate.min())), abs(float(candidate.max())))
    return scale if math.isfinite(scale) else None


def scale_if_all_equal(pair: Pair) -> float | None:
    """Return the largest magnitude of two tensors of several blocks that are finite and equal, else None.

    Those that differ mostly do so in their first block, after which it is over.
    """
    if pair.size <= BLOCK:
        return None  # the caller sees it in the only block
    first, _ = next(pair.cuts())
    if scale_if_equal(pair.candidate[first], pair.reference[first]) is None:
        return None
    differing: list[int] = []
    threads: list[_Equality] = []

    def worker() -> _Equality:
        threads.append(_Equality(differing))
        return threads[-1]

    for_each_block(pair, worker, _SPAN)
    return None if differing else max(part.scale for part in threads)


class _Equality:
    """One thread's part.

    Args:
        differing: Offsets of the blocks that are not equal; shared by all threads, which stop at the first.
    """

    def __init__(self, differing: list[int]) -> None:
        self.differing = differing
        self.scale = 0.0

    def __call__(self, candidate: Array, reference: Array, offset: int) -> None:
        if self.differing:
            return
        scale = scale_if_equal(candidate, reference)
        if scale is None:
            self.differing.append(offset)
        else:
            self.scale = max(self.scale, scale)
