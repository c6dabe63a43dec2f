"""Inputs that a saved run was given in another order of their numbers: other axes first, or blue before red.

Asked where the outputs of a saved run differ by more than rounding explains. It takes a run of the candidate for each
order: the right one makes the saved outputs of an input that is put in order, which no wrong operator does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import to_numpy
from polycmp_locate.causes.case import Case
from polycmp_locate.values.judged import OTHER_INPUTS, Judged

Array = NDArray[Any]
#: Channels of a picture.
_COLOURS = 3
#: Up to so many axes any may have been exchanged (choice: 5 orders, as of 4 axes with a batch).
_FEW_AXES = 3


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

    Either a reshape took the place of a transposition, or a transposed array was read as it lies in memory. Of four
    axes and more the first one, the batch, keeps its place.
    """
    yield name, array
    seen = [array]
    for axes in _permutations(array.ndim):
        back = np.argsort(axes)
        other = tuple(array.shape[axis] for axis in axes)
        for words, ordered in (
            (f"{name}.reshape{other}.transpose{_tuple(back)}", array.reshape(other).transpose(back)),
            (f"{name}.transpose{axes}.reshape{array.shape}", array.transpose(axes).reshape(array.shape)),
        ):
            if not any(np.array_equal(ordered, known) for known in seen):
                seen.append(np.ascontiguousarray(ordered))
                yield words, seen[-1]


def _permutations(rank: int) -> Iterator[tuple[int, ...]]:
    kept = rank > _FEW_AXES
    for places in permutations(range(kept, rank)):
        axes = (0, *places) if kept else places
        if axes != tuple(range(rank)):
            yield axes


def _tuple(axes: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(axis) for axis in axes)
