"""Single whole numbers with which a model works, by the names that such inputs have: a rate, a length, a count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class

_RATE = frozenset({"sr", "fs", "hz", "rate", "samplerate", "samplingrate"})
_FEW = frozenset({"k", "topk", "steps", "iterations", "iters"})
_LENGTH = frozenset({"length", "lengths", "len", "lens", "seqlen"})
_SIZE = frozenset({"size", "sizes"})
#: The rate at which nearly all models of speech work.
RATE = 16000
#: More than one, so that it is a loop or a choice, and not more than the smallest axis has.
FEW = 2


class Number(NamedTuple):
    """Value of an input, and its meaning by the input's name."""

    values: tuple[int, ...]
    meaning: str

    def put_into(self, array: Any) -> None:
        """Put it into an array, along its last axis where there are several numbers."""
        if len(self.values) == 1:
            array[...] = self.values[0]
            return
        for place, value in enumerate(self.values):
            array[..., place] = value


def usual_numbers(inputs: TensorMetadata) -> Mapping[str, Number]:
    """Choose values for inputs of one whole number, by name, as far as their names are known.

    A length is that of the inputs beside it, one for each row; a size of two numbers is the height and width of the
    picture beside it. Inputs whose values the model's graph limits are left out.

    Args:
        inputs: The inputs, with their sizes.
    """
    numbers = {name: _number(name, entry, inputs) for name, entry in inputs.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _number(name: str, entry: TensorEntry, inputs: TensorMetadata) -> Number | None:
    whole = entry.dtype is not None and dtype_class(entry.dtype) == "integer" and entry.dtype.itemsize > 1
    if not whole or entry.range is not None or entry.values is not None:
        return None
    shape = entry.static_shape()
    words = _words(name)
    others = [item.static_shape() for other, item in inputs.items() if other != name]
    if len(shape) <= 1 and words & _LENGTH:
        length = next((min(dims[1:3]) for dims in others if len(dims) > 1), 0)
        return Number((length,), "the length of what is fed") if length else None
    if len(shape) in {1, 2} and shape[-1] == 2 and words & _SIZE:
        return next((Number(_picture(dims), "the size of the picture") for dims in others if len(dims) == 4), None)
    if shape not in {(), (1,), (1, 1)}:
        return None
    if words & _RATE:
        return Number((RATE,), "a sample rate")
    return Number((FEW,), "a small number") if words & _FEW else None


def _picture(dims: tuple[int, ...]) -> tuple[int, ...]:
    return dims[1:3] if dims[-1] in {1, 3, 4} else dims[2:4]


def _words(name: str) -> set[str]:
    """Return the words in a name, also two and two together: `sample_rate` is `sample`, `rate` and `samplerate`."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.rpartition("/")[2]).lower())
    return {*words, *(one + two for one, two in pairwise(words))}
