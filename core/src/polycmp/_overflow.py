"""Numbers inside a model that are beyond its type, as its outputs in float64 tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import is_floating


def overflow_remark(
    inputs: Iterable[NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
    in_float64: Callable[[], Mapping[str, NDArray[Any]]],
    difference: str,
) -> str | None:
    """Return a remark on the first output with infinities or NaN that float64 makes finite.

    A compiler that leaves out what it simplifies, or keeps it in a wider type, makes a number where a run of operator
    by operator makes infinity, and neither is wrong.

    Args:
        inputs: What a model was fed.
        outputs: What it made, by name.
        in_float64: Makes its outputs in float64. What it raises is no answer: many a model has no other type.
        difference: What another backend may do there, as a clause.

    Returns:
        The remark, empty where float64 makes none of them finite; None if it was not asked, since all outputs are
        finite or an input is not.
    """
    lost = {name: ~np.isfinite(array) for name, array in outputs.items() if is_floating(array.dtype)}
    if not any(places.any() for places in lost.values()):
        return None
    if not all(np.isfinite(array).all() for array in inputs if is_floating(array.dtype)):
        return None
    with suppress(Exception):
        for name, wide in in_float64().items():
            places = lost.get(name)
            if places is None or wide.dtype != np.float64 or wide.shape != places.shape:
                continue
            beyond = places & np.isfinite(wide)
            if beyond.any():
                return (
                    f"a number inside is beyond {outputs[name].dtype}: {beyond.sum()} of {beyond.size} elements of "
                    f"{name!r} are infinite or NaN here, of which float64 makes {wide[beyond][0]:.6g} first; "
                    f"{difference}, so a run that holds what float64 makes is not wrong"
                )
    return ""
