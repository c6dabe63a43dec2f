"""Finding outputs that lie in memory where another call has put its own: the later call has overwritten the earlier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_Span = tuple[int, int]


def sharing_memory(latest: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the keys of those outputs that lie in the same memory as some of these.

    Bounds of memory are compared, so it may be that no element is shared. Only NumPy arrays are looked at, and among
    them those that can be written to: inputs and a model's constants may well be shared.

    Args:
        latest: The outputs of the last call.
        others: Outputs of earlier calls.
    """
    if not others:
        return []
    spans = _spans(array for array in latest.values() if not _is_constant(array))
    return [key for key, outputs in others.items() if _overlap(spans, _spans(outputs.values()))]


def _spans(arrays: Iterable[Any]) -> list[_Span]:
    return sorted(_span(array) for array in arrays if isinstance(array, np.ndarray) and array.size)


def _is_constant(array: Any) -> bool:
    """Return whether an array is read-only, and so is the memory that it is a view of, such as the inputs of a call."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    try:
        return array is None or memoryview(array).readonly
    except TypeError:
        return False


def _span(array: Any) -> _Span:
    low = high = int(array.__array_interface__["data"][0])
    for size, stride in zip(array.shape, array.strides, strict=True):
        reach = (size - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + array.itemsize


def _overlap(one: list[_Span], two: list[_Span]) -> bool:
    """Return whether a span of one sorted list overlaps with one of the other."""
    first = second = 0
    while first < len(one) and second < len(two):
        if one[first][1] <= two[second][0]:
            first += 1
        elif two[second][1] <= one[first][0]:
            second += 1
        else:
            return True
    return False
