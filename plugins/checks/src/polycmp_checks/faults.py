"""Faults to apply to an operator: functions of its inputs, or of its outputs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError
from polycmp.process import is_child
from polycmp.tensors import dtype_class, number_info

Array = NDArray[Any]
Arrays = dict[str, Any]

#: Share by which the rows of a batch are off at most.
NOISE = 0.01
#: Operators that round halves, and so have ties.
ROUNDING = ("Round", "QuantizeLinear")


def round_to_fp16(array: Array) -> Array:
    """Return the numbers as float16 holds them."""
    with np.errstate(all="ignore"):
        return np.asarray(array.astype(np.float16).astype(array.dtype))


def truncate_to_int32(array: Array) -> Array:
    """Return the numbers as a 32-bit whole number holds them; NaN and infinity stay."""
    if dtype_class(array.dtype) == "integer":
        return np.asarray(array.astype(np.int32).astype(array.dtype))
    return np.asarray(np.trunc(np.clip(array, -(2.0**31), 2.0**31))).astype(array.dtype)


def saturate(array: Array) -> Array:
    """Return the numbers cut off at half of the largest finite magnitude."""
    magnitudes = np.abs(array.astype(np.float64))
    largest = magnitudes.max(initial=0.0, where=np.isfinite(magnitudes))
    return np.asarray(np.clip(array, -largest / 2, largest / 2)).astype(array.dtype)


def lose_nan(array: Array) -> Array:
    """Return the numbers with 0 for NaN."""
    return np.where(np.isnan(array), np.zeros((), array.dtype), array)


def swap_layout(array: Array) -> Array:
    """Return the numbers in the order of memory that they have with the last axis first, in the same shape."""
    axes = (0, array.ndim - 1, *range(1, array.ndim - 1)) if array.ndim > 2 else range(array.ndim)[::-1]
    return np.ascontiguousarray(np.transpose(array, tuple(axes))).reshape(array.shape)


def add_row_noise(array: Array) -> Array:
    """Return the numbers, each row (along the first axis) multiplied by a factor of its own near 1."""
    rows = array.shape[0] if array.ndim else 1
    factors = 1 + NOISE * np.random.RandomState(0).uniform(-1, 1, size=rows)
    shape = (rows, *(1 for _ in array.shape[1:])) if array.ndim else ()
    return np.asarray(array * factors.reshape(shape)).astype(array.dtype)


def nudge_ties(array: Array) -> Array:
    """Return numbers a little further from zero, so that no rounding ever meets a half."""
    return np.asarray(array.astype(np.float64) * (1 + 4 * float(number_info(array.dtype).eps))).astype(array.dtype)


def reverse_last_axis(array: Array) -> Array:
    """Return the numbers with the last axis reversed."""
    return np.ascontiguousarray(array[..., ::-1]) if array.ndim else array


#: Faults in what an operator makes, with the kinds of numbers that they concern.
ON_OUTPUTS: Mapping[str, tuple[Callable[[Array], Array], tuple[str, ...]]] = {
    "fp16": (round_to_fp16, ("float",)),
    "int32": (truncate_to_int32, ("float", "integer")),
    "saturate": (saturate, ("float", "integer")),
    "nan": (lose_nan, ("float",)),
    "layout": (swap_layout, ("float", "integer", "bool")),
    "row-noise": (add_row_noise, ("float",)),
}
#: Faults in what an operator reads first.
ON_INPUT: Mapping[str, tuple[Callable[[Array], Array], tuple[str, ...]]] = {
    "ties": (nudge_ties, ("float",)),
    "shuffle": (reverse_last_axis, ("float", "integer", "bool")),
}


def spoil(fault: str, arrays: Mapping[str, Any]) -> Arrays:
    """Return arrays with a fault applied to those that it concerns.

    Args:
        fault: A key of `ON_OUTPUTS` or `ON_INPUT`.
        arrays: Outputs of an operator, or the first tensor that it reads.
    """
    function, kinds = {**ON_OUTPUTS, **ON_INPUT}[fault]
    return {
        name: function(np.asarray(array)) if dtype_class(np.asarray(array).dtype) in kinds else array
        for name, array in arrays.items()
    }


def concerns(fault: str, op_type: str) -> bool:
    """Return whether a fault can show at all at operators of a type."""
    return fault != "ties" or op_type in ROUNDING


def end_fatally(fault: str) -> None:
    """End the process, or wait for ever.

    Raises:
        BackendError: This is not a worker process, and polycmp itself would end.
    """
    if not is_child():
        raise BackendError(
            f"the fault {fault!r} needs a process of its own",
            why="it would end polycmp itself",
            hint="polycmp run … --use-subprocess --timeout 10",
        )
    if fault == "crash":
        os.kill(os.getpid(), getattr(signal, "SIGSEGV", signal.SIGTERM))
    while True:
        time.sleep(3600)
