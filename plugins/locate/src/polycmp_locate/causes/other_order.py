"""Inputs that a saved run was given in another order of their numbers: other axes first, or blue before red.

Asked where the outputs of a saved run differ by more than rounding explains. It takes a run of the candidate for each
order: the right one makes the saved outputs of an input that is put in order, which no wrong operator does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import to_numpy
from polycmp_locate.causes.case import Case
from polycmp_locate.values.judged import OTHER_INPUTS, Judged

Array = NDArray[Any]
#: Channels of a picture.
_COLOURS = 3
#: Up to so many axes none need be that of a batch, as of a picture or a sequence.
_WITHOUT_BATCH = 3


@dataclass(frozen=True)
class OtherOrder:
    """An input of which another order of its numbers makes the saved outputs.

    Attributes:
        words: The right order, as NumPy's words for it.
    """

    words: str

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del judged
        return f"{OTHER_INPUTS}: {candidate} makes the outputs of {reference} of {self.words}, and no operator is wrong"


def ask(case: Case) -> Judged | None:
    """Return the verdict on a saved run that was made of inputs in another order; None where no order explains it."""
    whole, setting = case.whole, case.setting
    if setting.pairing is None or not setting.pairing.recorded or not whole.beyond:
        return None
    names = list(whole.beyond)
    for name, value in whole.feed.items():
        for words, array in _orders(name, to_numpy(value)):
            outputs = setting.candidate.run_whole({**whole.feed, name: array}, names)
            if outputs is not None and all(
                whole.is_explained(output, outputs[output], whole.expected[output]) for output in names
            ):
                return case.nobody(verdict=OTHER_INPUTS, cause=OtherOrder(words))
    return None


def _orders(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Yield an input's numbers in other orders of the same shape, each with NumPy's words for it.

    Args:
        name: The input.
        array: The input as it was given.
    """
    for words, ordered in _layouts(name, array):
        if words != name:
            yield words, ordered
        for axis in {1, array.ndim - 1} if array.ndim > 2 else ():
            if array.shape[axis] == _COLOURS:
                yield f"np.flip({words}, {axis})", np.ascontiguousarray(np.flip(ordered, axis))


def _layouts(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Yield an input as it is, and in each order that a mistaken layout leaves, of which those that are equal once.

    Either a reshape took the place of a transposition, or a transposed array was read as it lies in memory.
    """
    yield name, array
    seen = {sha256(array.tobytes()).digest()}
    for axes in _axis_orders(array.ndim):
        back = tuple(map(axes.index, range(array.ndim)))
        other = tuple(array.shape[axis] for axis in axes)
        for words, ordered in (
            (f"{name}.reshape{other}.transpose{back}", array.reshape(other).transpose(back)),
            (f"{name}.transpose{axes}.reshape{array.shape}", array.transpose(axes).reshape(array.shape)),
        ):
            digest = sha256(ordered.tobytes()).digest()
            if digest not in seen:
                seen.add(digest)
                yield words, np.ascontiguousarray(ordered)


def _axis_orders(rank: int) -> Iterator[tuple[int, ...]]:
    """Yield orders of axes: one taken to another place, or all turned round; of more than three the batch stays."""
    batch, free = ([0], range(1, rank)) if rank > _WITHOUT_BATCH else ([], range(rank))
    orders = [tuple(reversed(free))]
    for axis, place in product(free, range(len(free))):
        order = [other for other in free if other != axis]
        order.insert(place, axis)
        orders.append(tuple(order))
    yield from ((*batch, *order) for order in dict.fromkeys(orders) if order != tuple(free))
