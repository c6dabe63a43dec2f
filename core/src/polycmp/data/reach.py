"""Whether inputs reach a model's outputs: those that are next to nothing, or one number, look alike for all models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import dtype_class, to_numpy

#: Real numbers below this are next to nothing: the absolute tolerance that is the default would pass any of them.
NOTHING = 1e-5
#: So many elements are looked at first; only where they say nothing are all of them.
FEW = 1024


def silent_outputs(outputs: Mapping[str, Any]) -> list[str]:
    """Return the names of the outputs that hold next to nothing everywhere, or the same number everywhere.

    A single number that is not next to nothing counts as reached, and so does what is empty, text, NaN or infinite.

    Args:
        outputs: Arrays by name.
    """
    return [name for name, array in outputs.items() if _is_silent(to_numpy(array))]


def _is_silent(array: NDArray[Any]) -> bool:
    kind = dtype_class(array.dtype)
    if array.size == 0 or kind not in {"float", "integer", "bool"}:
        return False
    return all(_says_nothing(part, kind) for part in _parts(array.reshape(-1)))


def _parts(flat: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield elements from all over an array, and then all."""
    if flat.size > FEW:
        yield flat[:: flat.size // FEW]
    yield flat


def _says_nothing(array: NDArray[Any], kind: str) -> bool:
    if kind != "float":
        return array.size > 1 and bool((array == array[0]).all())
    with np.errstate(all="ignore"):
        numbers = array if array.dtype.kind == "f" else array.astype(np.float32)
        low, high = float(numbers.min()), float(numbers.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        return False
    return max(-low, high) < NOTHING or (array.size > 1 and low == high)
