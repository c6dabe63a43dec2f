"""Normalisations, corrected."""
# ruff: noqa: N801

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun


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


class MeanVarianceNormalization_9(OpRun):  # type: ignore[misc]
    """MeanVarianceNormalization; ONNX's subtracts squares that cancel where values vary by little beside their mean."""

    def _run(self, x: Any, *, axes: Any = None) -> tuple[Any]:
        along = tuple(int(axis) % x.ndim for axis in ((0, 2, 3) if axes is None else axes))
        centred = x - x.mean(axis=along, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=along, keepdims=True))
        return ((centred / (deviation + x.dtype.type(1e-9))).astype(x.dtype),)


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
