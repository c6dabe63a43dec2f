"""NaN and infinity in outputs: how many, and where the first is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycmp.tensors import is_floating, to_numpy

CHUNK = 1 << 18


@dataclass(frozen=True)
class InvalidValues:
    """NaNs and infinities of one output.

    Attributes:
        output: Name of the output.
        nan: Number of NaNs.
        inf: Number of infinities.
        first: Index of the first NaN or infinity.
    """

    output: str
    nan: int
    inf: int
    first: tuple[int, ...]


def find_invalid(outputs: Mapping[str, Any]) -> list[InvalidValues]:
    """Return the outputs that hold NaN or infinity."""
    invalid = [_examine(name, to_numpy(array)) for name, array in outputs.items()]
    return [item for item in invalid if item is not None]


def _examine(name: str, array: Any) -> InvalidValues | None:
    if not (is_floating(array.dtype) or array.dtype.kind == "c"):
        return None
    flat = array.reshape(-1)
    nan = bad = 0
    first = -1
    for start in range(0, flat.size, CHUNK):
        chunk = flat[start : start + CHUNK]
        finite = np.isfinite(chunk)
        if finite.all():
            continue
        nan += int(np.isnan(chunk).sum())
        bad += int(finite.size - finite.sum())
        first = start + int(np.argmin(finite)) if first < 0 else first
    if not bad:
        return None
    index = tuple(int(item) for item in np.unravel_index(first, array.shape))
    return InvalidValues(name, nan, bad - nan, index)
