"""Pooling, corrected; and vectorised, because ONNX's own visits every window in Python."""
# ruff: noqa: N801

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class MaxPool_12(OpRun):  # type: ignore[misc]
    """MaxPool; ONNX's makes too few rows with `SAME_LOWER`, fails where a window holds only NaN, and loses places."""

    def _run(self, x: Any, *, storage_order: int = 0, **attributes: Any) -> tuple[Any, ...]:
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        windows = _Windows(x.shape[2:], attributes)
        y = _pooled(x, lowest, np.maximum, windows)
        if sum(bool(name) for name in self.onnx_node.output) == 1:
            return (y,)
        return y, _places(x, y, windows, bool(storage_order))


def _places(x: Any, y: Any, windows: _Windows, by_columns: bool) -> Any:
    """Return where the largest element of each window stands, the first of several; -1 where there is none."""
    size = x.shape[2:]
    within = np.arange(math.prod(size)).reshape(size, order="F" if by_columns else "C")
    numbers = np.broadcast_to(within, x.shape) + (np.arange(math.prod(x.shape[:2])) * within.size).reshape(
        *x.shape[:2], *(1,) * len(size)
    )
    places = np.full(y.shape, -1)
    for values, at in zip(_elements(x, 0, windows), _elements(numbers, -1, windows), strict=True):
        matches = (places < 0) & (at >= 0) & ((values == y) | (np.isnan(y) & np.isnan(values)))
        places = np.where(matches, at, places)
    return places


class LpPool_1(OpRun):  # type: ignore[misc]
    """LpPool; ONNX's refuses some sizes, and leaves out rows."""

    def _run(self, x: Any, *, p: int = 2, **attributes: Any) -> tuple[Any]:
        total = _pooled(np.abs(_wide(x)) ** p, 0, np.add, _Windows(x.shape[2:], attributes))
        return ((total ** (1 / p)).astype(x.dtype),)


class GlobalLpPool_2(OpRun):  # type: ignore[misc]
    """GlobalLpPool, which ONNX lacks."""

    def _run(self, x: Any, *, p: int = 2) -> tuple[Any]:
        total = (np.abs(_wide(x)) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
        return ((total ** (1 / p)).astype(x.dtype),)


class GlobalMaxPool_1(OpRun):  # type: ignore[misc]
    """GlobalMaxPool; ONNX's takes the maximum over the wrong axes unless there are two spatial ones."""

    def _run(self, x: Any) -> tuple[Any]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class AveragePool_19(OpRun):  # type: ignore[misc]
    """AveragePool; ONNX's leaves NaN in the data out of the average."""

    def _run(self, x: Any, *, count_include_pad: int = 0, **attributes: Any) -> tuple[Any]:
        windows = _Windows(x.shape[2:], attributes)
        wide = _wide(x)
        total = _pooled(wide, 0, np.add, windows)
        real = np.ones((1, 1, *x.shape[2:]), wide.dtype)
        if count_include_pad:
            real = np.pad(real, windows.padding(windows.before, windows.after), constant_values=1)
            windows = windows.without_padding()
        return ((total / _pooled(real, 0, np.add, windows)).astype(x.dtype),)


def _wide(x: Any) -> Any:
    """Return data in a type in which it is summed: of at least 32 bits."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


class _Windows:
    """Positions of the windows of a pooling, by the formulas of ONNX's specification of MaxPool and AveragePool."""

    def __init__(self, size: Sequence[int], attributes: dict[str, Any]) -> None:
        rank = len(size)
        self.kernel: list[int] = list(attributes["kernel_shape"])
        self.strides: list[int] = list(attributes.get("strides") or [1] * rank)
        self.dilations: list[int] = list(attributes.get("dilations") or [1] * rank)
        self.span = [step * (length - 1) + 1 for step, length in zip(self.dilations, self.kernel, strict=True)]
        pads = list(attributes.get("pads") or [0] * 2 * rank)
        self.before, self.after = pads[:rank], pads[rank:]
        auto_pad = attributes.get("auto_pad") or "NOTSET"
        if auto_pad == "NOTSET":
            self.out = [self._length(axis, size[axis], bool(attributes.get("ceil_mode"))) for axis in range(rank)]
        else:
            self._pad_automatically(auto_pad, size)

    def _length(self, axis: int, size: int, ceil_mode: bool) -> int:
        padded = size + self.before[axis] + self.after[axis]
        steps = (padded - self.span[axis]) / self.strides[axis]
        length = int(math.ceil(steps) if ceil_mode else math.floor(steps)) + 1
        starts_in_padding = (length - 1) * self.strides[axis] >= size + self.before[axis]
        return length - 1 if ceil_mode and starts_in_padding else length

    def _pad_automatically(self, auto_pad: str, size: Sequence[int]) -> None:
        if auto_pad == "VALID":
            self.before = self.after = [0] * len(size)
            self.out = [self._length(axis, length, ceil_mode=False) for axis, length in enumerate(size)]
            return
        self.out = [math.ceil(length / step) for length, step in zip(size, self.strides, strict=True)]
        missing = [
            max((out - 1) * step + span - length, 0)
            for out, step, span, length in zip(self.out, self.strides, self.span, size, strict=True)
        ]
        small, large = [total // 2 for total in missing], [total - total // 2 for total in missing]
        self.before, self.after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)

    def without_padding(self) -> _Windows:
        """Return the same windows over data that is padded already."""
        other = object.__new__(_Windows)
        other.__dict__.update(self.__dict__, before=[0] * len(self.out), after=[0] * len(self.out))
        return other

    @staticmethod
    def padding(before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
        """Return the padding as `numpy.pad` takes it, for data with a leading batch and channel dimension."""
        return [(0, 0), (0, 0), *zip(before, after, strict=True)]


def _pooled(x: Any, filler: Any, combine: Callable[..., Any], windows: _Windows) -> Any:
    """Return the combination of all elements of each window; outside the data lies the filler."""
    result = np.full((*x.shape[:2], *windows.out), filler, x.dtype)
    for values in _elements(x, filler, windows):
        combine(result, values, out=result)
    return result


def _elements(x: Any, filler: Any, windows: _Windows) -> Iterator[Any]:
    """Yield the first element of every window, then the second, and so on."""
    reach = [
        (out - 1) * step + span for out, step, span in zip(windows.out, windows.strides, windows.span, strict=True)
    ]
    size = x.shape[2:]
    after = [max(end - before - length, 0) for end, before, length in zip(reach, windows.before, size, strict=True)]
    padded = np.pad(x, windows.padding(windows.before, after), constant_values=filler)
    for offset in itertools.product(*(range(length) for length in windows.kernel)):
        starts = [index * step for index, step in zip(offset, windows.dilations, strict=True)]
        place = [slice(None), slice(None)]
        place += [
            slice(start, start + max((out - 1) * step + 1, 0), step)
            for start, out, step in zip(starts, windows.out, windows.strides, strict=True)
        ]
        yield padded[tuple(place)]
