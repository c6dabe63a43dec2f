"""Inputs that a saved run was given in another order of their numbers: channels last, or blue before red.

Asked where the outputs of a saved run differ by more than rounding explains. It takes a run of the candidate for each
order: the right one makes the saved outputs of an input that is put in order, which no wrong operator does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import to_numpy
from polycmp_locate.causes.case import Case
from polycmp_locate.values.judged import OTHER_INPUTS, Judged

Array = NDArray[Any]
#: Channels of a picture.
_COLOURS = 3


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
    """Yield an input as it is, and as it is where a reshape took the place of a transposition."""
    yield name, array
    if array.ndim <= 2 or min(array.shape[1], array.shape[-1]) < 2:
        return
    rows, channels, *places = array.shape
    last = (rows, *places, channels)
    yield _words(name, last, -1, 1), np.ascontiguousarray(np.moveaxis(array.reshape(last), -1, 1))
    rows, *places, channels = array.shape
    first = (rows, channels, *places)
    yield _words(name, first, 1, -1), np.ascontiguousarray(np.moveaxis(array.reshape(first), 1, -1))


def _words(name: str, shape: tuple[int, ...], source: int, target: int) -> str:
    return f"np.moveaxis({name}.reshape{shape}, {source}, {target})"
