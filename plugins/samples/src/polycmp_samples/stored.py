"""Reading the samples that come with this package; `SOURCES.md` beside them says where they are from."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The text that the text models read.
SENTENCE = "The quick brown fox jumps over the lazy dog. "
#: The same in the vocabulary of BERT and all that share it, of 30522 words, with the marks of beginning and end.
SENTENCE_IDS = (101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102)
#: Number of words in that vocabulary.
VOCABULARY = 30522


@cache
def _archive() -> dict[str, NDArray[Any]]:
    with files(__package__).joinpath("samples.npz").open("rb") as stream, np.load(stream) as archive:
        return dict(archive)


def picture(name: str) -> NDArray[np.uint8]:
    """Return a picture of shape [height, width, 3]; photographs have 320x320 pixels, the page has 640x640."""
    held = _archive()[name]
    if held.ndim == 2:
        return np.repeat(held[..., np.newaxis], 3, axis=-1)
    # Differences from row to row, which take less space; sums of them wrap around as they did.
    rows = np.cumsum(held, axis=1, dtype=np.uint8)
    return np.ascontiguousarray(rows.transpose(1, 2, 0))


def speech() -> NDArray[np.int16]:
    """Return a spoken sentence at 16 kHz, of shape [samples]."""
    return np.asarray(_archive()["speech"], np.int16)
