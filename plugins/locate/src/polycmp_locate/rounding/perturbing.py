"""Tensors moved a little, to see what that does to an operator's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.precision import unit_of
from polycmp.tensors import as_dtype, dtype_name, is_floating, to_numpy


def one_ulp_apart(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return tensors with every real number moved by one unit in the last place, up and down in turn."""
    return {name: _nudge(to_numpy(array)) for name, array in tensors.items()}


def _nudge(array: NDArray[Any]) -> NDArray[Any]:
    if not is_floating(array.dtype) or array.dtype.kind != "f":
        return array
    moved = np.array(array.reshape(-1))
    with np.errstate(all="ignore"):
        for start, direction in ((0, np.inf), (1, -np.inf)):
            every_other = moved[start::2]
            np.nextafter(
                every_other, every_other.dtype.type(direction), out=every_other, where=np.isfinite(every_other)
            )
    return moved.reshape(array.shape)


def randomly_moved(tensors: Mapping[str, Any], units: float, seed: int) -> dict[str, Any]:
    """Return tensors with every real number moved by so many units in the last place, up or down at random.

    Args:
        tensors: The tensors, by name.
        units: Units in the last place.
        seed: Chooses the directions.
    """
    rng = np.random.default_rng(seed)
    return {name: _jolt(to_numpy(array), units, rng) for name, array in tensors.items()}


def _jolt(array: NDArray[Any], units: float, rng: np.random.Generator) -> NDArray[Any]:
    if not is_floating(array.dtype) or np.iscomplexobj(array):
        return array
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        away = units * _last_place(array, wide) * rng.choice((-1.0, 1.0), array.shape)
        moved: NDArray[Any] = (wide + away).astype(array.dtype)
        finite: NDArray[Any] = np.where(np.isfinite(moved.astype(np.float64)), moved, array)
    return finite


def _last_place(array: NDArray[Any], wide: NDArray[np.float64]) -> NDArray[Any]:
    """Return the unit in the last place of each number."""
    if array.dtype.kind == "f":
        return np.asarray(np.spacing(np.abs(array)), np.float64)
    last: NDArray[Any] = np.exp2(np.floor(np.log2(np.abs(wide)))) * 2.0 * unit_of(dtype_name(array.dtype))
    return last


def scaled(array: NDArray[Any], factor: float) -> NDArray[Any]:
    """Return real numbers times a factor, other tensors as they are."""
    return (array.astype(np.float64) * factor).astype(array.dtype) if is_floating(array.dtype) else array


def rounded(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return real numbers as a coarser type holds them, other tensors as they are."""
    if not is_floating(array.dtype):
        return array
    kind = as_dtype("float16" if name == "tf32" else name)
    with np.errstate(all="ignore"):
        return array.astype(kind).astype(array.dtype)
