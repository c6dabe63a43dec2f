"""Walking through two arrays of one shape in blocks that fit the cache, on all CPUs, without copying a whole tensor."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from polycmp._cores import usable_cores
from polycmp.tensors import dtype_class

T = TypeVar("T")
Array = NDArray[Any]

#: Elements per block: four float64 buffers of this size fit the second-level cache of one core.
BLOCK = 1 << 15
#: Below this many elements, starting threads costs more than it saves.
_PARALLEL = 1 << 19

#: More threads than this wait for memory, and each has counts and buffers of its own.
_MOST_THREADS = 16


class Pair:
    """Two arrays of one shape, cut into blocks.

    Args:
        candidate: Any array, in any memory layout.
        reference: Another of the same shape.

    Attributes:
        shape: Their common shape.
        size: Elements in each.
    """

    def __init__(self, candidate: Array, reference: Array) -> None:
        if candidate.shape != reference.shape:
            raise ValueError(f"shapes differ: {candidate.shape} and {reference.shape}")
        self.shape: tuple[int, ...] = candidate.shape
        self.size: int = candidate.size
        self.original: tuple[Array, Array] = (candidate, reference)
        if candidate.flags.c_contiguous and reference.flags.c_contiguous:
            candidate, reference = candidate.reshape(-1), reference.reshape(-1)
        self.candidate: Array = candidate
        self.reference: Array = reference

    def cuts(self, block: int = BLOCK) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield the index of each block in both arrays, and the position of its first element in C order."""
        shape = self.candidate.shape
        if self.size <= block:
            if self.size:
                yield (...,), 0
            return
        axis = 0
        while math.prod(shape[axis + 1 :]) > block:
            axis += 1
        inner = math.prod(shape[axis + 1 :])
        step = max(1, block // inner)
        offset = 0
        for prefix in itertools.product(*(range(dim) for dim in shape[:axis])):
            for start in range(0, shape[axis], step):
                yield (*prefix, slice(start, start + step)), offset
                offset += min(step, shape[axis] - start) * inner

    def values_at(self, position: int) -> tuple[tuple[int, ...], Any, Any]:
        """Return index, candidate's and reference's value of the element at a position in C order."""
        index = tuple(int(i) for i in np.unravel_index(position, self.shape)) if self.shape else ()
        return index, self.original[0][index], self.original[1][index]


def for_each_block(pair: Pair, worker: Callable[[], Callable[[Array, Array, int], None]], block: int = BLOCK) -> None:
    """Hand every block to a worker, several at a time where there are enough of them.

    Args:
        pair: The arrays.
        worker: Makes what one thread uses: a function of candidate block, reference block and position. It is called
            once per thread, so that what it makes needs no lock.
        block: Elements per block at most.
    """
    candidate, reference = pair.candidate, pair.reference
    threads = min(usable_cores(), _MOST_THREADS, pair.size // _PARALLEL + 1)

    def strand(first: int, work: Callable[[Array, Array, int], None]) -> None:
        with np.errstate(all="ignore"):  # per thread; what is not finite is looked at by the workers
            for key, offset in itertools.islice(pair.cuts(block), first, None, threads):
                work(candidate[key], reference[key], offset)

    if threads <= 1:
        strand(0, worker())
        return
    works = [worker() for _ in range(threads)]
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="polycmp-compare") as pool:
        others = [pool.submit(strand, first, work) for first, work in enumerate(works[1:], start=1)]
        strand(0, works[0])  # this thread works, too: one less to start and to wait for
        for done in others:
            done.result()


def wide(array: Array) -> Array:
    """Return an array in float64, or in complex128."""
    return array.astype(np.complex128 if dtype_class(array.dtype) == "complex" else np.float64)
