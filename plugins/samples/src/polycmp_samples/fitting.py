"""Choice of the sample that fits an input, by its type, its shape and its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, is_low_bit
from polycmp_samples import pictures, stored
from polycmp_samples.options import PICTURES, SampleOptions

#: The fewest samples of a sound, and the names of inputs of that size that are none.
SOUND, NO_SOUND = 256, re.compile(r"embed|feature|vector|hidden|token|score", re.IGNORECASE)
#: Inputs that hold what a model remembers; it begins with nothing.
STATE = re.compile(
    r"(?<!hidden_)state|hidden(?!_state)|past|cache|memory|(^|[^a-z])[hc](_?\d+|n|_?in|_?prev)?$", re.IGNORECASE
)
#: Values of a byte.
BYTES = 256
#: Whole numbers and masks that go with text: what they hold, by what is in their names.
BESIDE: Mapping[str, str] = {"mask": "ones", "type": "zeros", "segment": "zeros", "position": "positions"}


class Filling(NamedTuple):
    """Samples chosen for one input.

    Attributes:
        words: Description of the content.
        make: Makes the array of an iteration, counted from 0.
        real: Whether it is a sample, and not only what goes with one.
        pictures: The pictures that iterations take in turn.
        rows: Number of pictures that an iteration shows.
    """

    words: str
    make: Callable[[int], NDArray[Any]]
    real: bool = False
    pictures: tuple[str, ...] = ()
    rows: int = 1


def fillings(inputs: TensorMetadata, options: SampleOptions) -> dict[str, Filling]:
    """Choose samples for inputs, by name; an input that no sample fits is left out.

    Args:
        inputs: The inputs, with their sizes.
        options: The options.
    """
    filling_of = {name: _filling(name, entry, options) for name, entry in inputs.items() if entry.values is None}
    return {name: filling for name, filling in filling_of.items() if filling is not None}


def _filling(name: str, entry: TensorEntry, options: SampleOptions) -> Filling | None:
    kind = "float" if entry.dtype is None else dtype_class(entry.dtype)
    if kind not in {"float", "integer", "bool"}:
        return None
    shape = entry.static_shape()
    beside = next((what for word, what in BESIDE.items() if word in name.lower()), "")
    if beside and (kind != "float" or len(shape) <= 2):
        return None if beside == "ones" and kind == "float" and not shape else _beside(entry, beside)
    if kind == "float" and (STATE.search(name) or beside):
        return Filling("zeros, as a model begins with nothing", lambda _: np.zeros(shape, _dtype(entry)))
    layout = pictures.layout_of(shape) if kind != "bool" and not is_low_bit(_dtype(entry)) else None
    if layout is not None and (kind == "float" or entry.range is None):
        return _picture(entry, layout, options)
    if kind == "float" or _dtype(entry) == np.int16:
        return _sound(name, entry, shape)
    return _text(name, entry, shape) if kind == "integer" else None


def _picture(entry: TensorEntry, layout: pictures.ImageLayout, options: SampleOptions) -> Filling:
    scale = pictures.scale_for(entry, options.scale)
    names = options.pictures

    def make(iteration: int) -> NDArray[Any]:
        first = iteration % len(names)
        return pictures.fill(entry, layout, (*names[first:], *names[:first]), scale)

    shape = entry.static_shape()
    rows = shape[0] if len(shape) > 3 else 1
    seen = names[: (options.iterations or len(names)) - 1 + rows]
    shown = ", ".join(PICTURES[name] for name in seen) + (" in turn" if len(seen) > 1 else "")
    words = f"{shown}, resized to {shape[layout.height]}x{shape[layout.width]}, {scale}"
    return Filling(words, make, True, names, rows)


def _sound(name: str, entry: TensorEntry, shape: tuple[int, ...]) -> Filling | None:
    flat = len(shape) in {1, 2} or (len(shape) == 3 and 1 in shape[1:])
    length = max(shape[-2:]) if len(shape) == 3 else shape[-1] if shape else 0
    if length < SOUND or NO_SOUND.search(name) or not flat:
        return None
    dtype = _dtype(entry)

    def make(iteration: int) -> NDArray[Any]:
        heard = stored.speech()
        rows = int(np.prod(shape)) // length
        # Rows and iterations go on where those before end; where it is over it begins again.
        places = np.arange(rows * length).reshape(rows, length) + _onset(heard) + iteration * length
        numbers = heard[places % len(heard)]
        whole = dtype_class(dtype) == "integer"
        return np.asarray(numbers if whole else numbers / np.float32(32768.0)).reshape(shape).astype(dtype)

    return Filling(f"speech at 16 kHz, {length / 16000:.2g} s", make, real=True)


def _onset(heard: NDArray[np.int16]) -> int:
    """Find the start of the loudest tenth of a second, so that even a short window contains it."""
    tenth = 1600
    power = np.square(heard[: len(heard) // tenth * tenth].astype(np.float64)).reshape(-1, tenth).sum(axis=1)
    return int(power.argmax()) * tenth


def _text(name: str, entry: TensorEntry, shape: tuple[int, ...]) -> Filling | None:
    bytes_by_name = "byte" in name.lower()
    if len(shape) not in {1, 2} or shape[-1] < 2 or not (entry.range or bytes_by_name):
        return None
    words = BYTES if entry.range is None else int(entry.range[1]) + 1
    known = words >= stored.VOCABULARY
    ids = np.array(stored.SENTENCE_IDS if known else list(stored.SENTENCE.encode()), np.int64) % max(words, 1)
    content = "the ids of a sentence" if known else "the bytes of a sentence"
    content += "" if known or words >= BYTES else f" modulo {words}"
    return Filling(content, lambda _: np.resize(ids, shape).astype(_dtype(entry)), real=True)


def _beside(entry: TensorEntry, what: str) -> Filling:
    shape, dtype = entry.static_shape(), _dtype(entry)
    if what == "positions":
        last = int(entry.range[1]) if entry.range is not None else 0
        numbers = np.arange(shape[-1] if shape else 1) % (last + 1 if last else 1 << 30)
        rows = np.broadcast_to(numbers, shape or (1,)).reshape(shape)
        return Filling("positions in order", lambda _: rows.astype(dtype))
    return Filling(what, lambda _: np.full(shape, what == "ones").astype(dtype))


def _dtype(entry: TensorEntry) -> np.dtype[Any]:
    return np.dtype(np.float32) if entry.dtype is None else entry.dtype
