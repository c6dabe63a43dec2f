"""Operators that ONNX's reference evaluator gets wrong, done right.

Each class says what was wrong, seen with onnx 1.23.2. The classes' names follow ONNX's convention `OPERATOR_VERSION`,
by which `OpRun` finds the schema, and with it the default attributes, of that version.
"""
# ruff: noqa: N801

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun


def correction(domain: str, op_type: str, opset: int) -> type[Any] | None:
    """Return the class to use instead of ONNX's own for an operator, or None if ONNX's is right.

    Args:
        domain: The operator's domain.
        op_type: The operator.
        opset: The version of the domain that the model imports.
    """
    if domain not in {"", "ai.onnx"}:
        return None
    return next((cls for first, last, cls in _CORRECTIONS.get(op_type, ()) if first <= opset <= last), None)


def _stash(x: Any, stash_type: int) -> np.dtype[Any]:
    """Return the type to calculate in: the node's `stash_type`, or the data's own where that is wider."""
    declared: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(stash_type)
    return max(declared, x.dtype, key=lambda dtype: dtype.itemsize)


class LayerNormalization_17(OpRun):  # type: ignore[misc]
    """LayerNormalization; ONNX's calculates in the type of the data and refuses any stash type but float32."""

    def _run(
        self, x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
    ) -> tuple[Any, ...]:
        stash = _stash(x, stash_type)
        axes = tuple(range(axis % x.ndim, x.ndim))
        wide = x.astype(stash)
        mean = wide.mean(axis=axes, keepdims=True)
        centred = wide - mean
        inverse = np.reciprocal(np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + stash.type(epsilon)))
        y = (centred * inverse).astype(x.dtype) * scale
        return ((y if bias is None else y + bias).astype(x.dtype), mean, inverse)


class RMSNormalization_23(OpRun):  # type: ignore[misc]
    """RMSNormalization; ONNX's calculates in the type of the data and refuses any stash type but float32."""

    def _run(self, x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> tuple[Any]:
        stash = _stash(x, stash_type)
        axes = tuple(range(axis % x.ndim, x.ndim))
        wide = x.astype(stash)
        inverse = np.reciprocal(np.sqrt((wide * wide).mean(axis=axes, keepdims=True) + stash.type(epsilon)))
        return (((wide * inverse).astype(x.dtype) * scale).astype(x.dtype),)


class LpNormalization_1(OpRun):  # type: ignore[misc]
    """LpNormalization; ONNX's sums the signed values for p = 1, so that they cancel."""

    def _run(self, x: Any, axis: int = -1, p: int = 2) -> tuple[Any]:
        norm = np.abs(x).sum(axis=axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis=axis, keepdims=True))
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0).astype(x.dtype),)


class LRN_1(OpRun):  # type: ignore[misc]
    """LRN; ONNX's fills only as many channels as the batch has rows."""

    def _run(self, x: Any, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int = 1) -> tuple[Any]:
        before, after = math.floor((size - 1) / 2), math.ceil((size - 1) / 2)
        squares = np.stack(
            [(x[:, max(0, channel - before) : channel + after + 1] ** 2).sum(axis=1) for channel in range(x.shape[1])],
            axis=1,
        )
        return ((x / (bias + alpha / size * squares) ** beta).astype(x.dtype),)


class BatchNormalization_9(OpRun):  # type: ignore[misc]
    """BatchNormalization of opsets 7 to 13; ONNX's mixes the batch's statistics in even for inference.

    Before opset 14 no attribute says which is meant: a node with one output is inference, one with more is training.
    """

    def _run(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        mean: Any,
        var: Any,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        spatial: int = 1,
    ) -> tuple[Any]:
        if sum(bool(name) for name in self.onnx_node.output) > 1:
            raise NotImplementedError("BatchNormalization in training mode before opset 14")
        if not spatial:
            raise NotImplementedError("BatchNormalization with spatial=0")
        shape = (-1, *(1,) * (x.ndim - 2))
        scale, bias, mean, var = (item.reshape(shape) for item in (scale, bias, mean, var))
        return ((scale * (x - mean) / np.sqrt(var + epsilon) + bias).astype(x.dtype),)


def _softmax(x: Any, axis: Any) -> Any:
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
        return _flattened(_softmax, x, axis)


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


class Scatter_9(OpRun):  # type: ignore[misc]
    """Scatter, which became ScatterElements in opset 11; ONNX's evaluator knows only the new name."""

    def _run(self, data: Any, indices: Any, updates: Any, *, axis: int = 0) -> tuple[Any]:
        result = data.copy()
        np.put_along_axis(result, np.where(indices < 0, indices + data.shape[axis], indices), updates, axis)
        return (result,)


class Loop_1(OpRun):  # type: ignore[misc]
    """Loop; ONNX's joins scan outputs along an existing dimension, and never starts where no condition is given."""

    def need_context(self) -> bool:
        """Return True: the body reads values of the graph around it."""
        return True

    def _run(
        self, trips: Any = None, condition: Any = None, *carried: Any, context: Any = None, body: Any, attributes: Any
    ) -> tuple[Any, ...]:
        names = body.input_names
        state = list(carried)
        scans: list[list[Any]] = [[] for _ in body.output_names[1 + len(state) :]]
        limit = math.inf if trips is None else int(trips.item())
        going, trip = condition is None or bool(condition.item()), 0
        while going and trip < limit:
            feed = dict(zip(names, [np.array(trip, np.int64), np.array(True), *state], strict=True))
            outputs = body.run(None, {**(context or {}), **feed}, attributes=attributes)
            going, state = bool(outputs[0].item()), outputs[1 : 1 + len(state)]
            for scan, value in zip(scans, outputs[1 + len(state) :], strict=True):
                scan.append(value)
            trip += 1
        types = body.output_types[1 + len(state) :]
        return (*state, *(_stacked(scan, kind) for scan, kind in zip(scans, types, strict=True)))


def _stacked(values: list[Any], kind: Any) -> Any:
    """Return scan outputs joined along a new first dimension; with no iteration, empty and of the declared type."""
    if values:
        return np.stack(values)
    dims = [dim.dim_value for dim in kind.tensor_type.shape.dim]
    return np.empty((0, *dims), onnx.helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))


_EVER = 10_000
_CORRECTIONS: dict[str, tuple[tuple[int, int, type[Any]], ...]] = {
    "LayerNormalization": ((17, _EVER, LayerNormalization_17),),
    "RMSNormalization": ((23, _EVER, RMSNormalization_23),),
    "LpNormalization": ((1, _EVER, LpNormalization_1),),
    "LRN": ((1, _EVER, LRN_1),),
    "BatchNormalization": ((7, 13, BatchNormalization_9),),
    "Softmax": ((1, 12, Softmax_11),),
    "LogSoftmax": ((1, 12, LogSoftmax_11), (13, _EVER, LogSoftmax_13)),
    "Hardmax": ((1, 12, Hardmax_11),),
    "Scatter": ((9, 10, Scatter_9),),
    "Loop": ((1, _EVER, Loop_1),),
}
