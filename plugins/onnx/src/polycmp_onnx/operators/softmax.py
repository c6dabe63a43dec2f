"""Softmax and its relatives, corrected."""
# ruff: noqa: N801

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


def softmax(x: Any, axis: Any) -> Any:
    """Return the softmax along an axis."""
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


def _log_softmax(x: Any, axis: Any) -> Any:
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _hardmax(x: Any, axis: int) -> Any:
    y = np.zeros_like(x)
    np.put_along_axis(y, np.expand_dims(np.argmax(x, axis=axis), axis), 1, axis=axis)
    return y


def _flattened(function: Any, x: Any, axis: int) -> tuple[Any]:
    """Apply a function to rows: before opset 13 these operators saw all dimensions from `axis` on as one."""
    if x.size == 0:
        return (x,)
    rows = x.reshape(math.prod(x.shape[: axis % x.ndim]), -1)
    return (function(rows, 1).reshape(x.shape).astype(x.dtype),)


class Softmax_11(OpRun):  # type: ignore[misc]
    """Softmax before opset 13; ONNX's has only the meaning of opset 13, over a single dimension."""

    def _run(self, x: Any, axis: int = 1) -> tuple[Any]:
        return _flattened(softmax, x, axis)


class LogSoftmax_11(OpRun):  # type: ignore[misc]
    """LogSoftmax before opset 13; ONNX's has only the meaning of opset 13, over a single dimension."""

    def _run(self, x: Any, axis: int = 1) -> tuple[Any]:
        return _flattened(_log_softmax, x, axis)


class Hardmax_11(OpRun):  # type: ignore[misc]
    """Hardmax before opset 13; ONNX's has only the meaning of opset 13, over a single dimension."""

    def _run(self, x: Any, axis: int = 1) -> tuple[Any]:
        return _flattened(_hardmax, x, axis)


class LogSoftmax_13(OpRun):  # type: ignore[misc]
    """LogSoftmax; ONNX's takes the logarithm of a softmax that has already become zero, and gives -inf."""

    def _run(self, x: Any, axis: int = -1) -> tuple[Any]:
        return (x if x.size == 0 else _log_softmax(x, axis).astype(x.dtype),)
