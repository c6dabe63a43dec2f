"""Reductions, corrected, and losses."""
# ruff: noqa: N801

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


def _axes(axes: Any, noop: int | None) -> tuple[int, ...] | None:
    """Return the axes to reduce: None for all, none at all where that is asked for."""
    if axes is not None and np.size(axes):
        return tuple(int(axis) for axis in np.reshape(axes, -1))
    return () if noop else None


class _Reduction(OpRun):  # type: ignore[misc]
    """A reduction whose axes are an attribute or an input."""

    def _run(self, x: Any, axes_input: Any = None, *, axes: Any = None, keepdims: int | None = 1,
             noop_with_empty_axes: int | None = 0) -> tuple[Any]:  # fmt: skip
        along = _axes(axes_input if axes is None else axes, noop_with_empty_axes)
        wide = x.astype(np.float64) if x.dtype.kind in "iu" else x
        return (np.asarray(self.reduce(wide, along, bool(keepdims))).astype(x.dtype),)

    def reduce(self, x: Any, along: Any, keepdims: bool) -> Any:
        """Return what remains of an array."""
        raise NotImplementedError


class ReduceLogSumExp_1(_Reduction):
    """ReduceLogSumExp; ONNX's gives NaN for infinity, fails for scalars, and refuses whole numbers in all opsets."""

    def reduce(self, x: Any, along: Any, keepdims: bool) -> Any:
        """Return the logarithm of the sum of powers."""
        largest = np.asarray(x.max(axis=along, keepdims=True, initial=-np.inf))
        shift = np.where(np.isfinite(largest), largest, 0).astype(x.dtype)
        total = np.log(np.exp(x - shift).sum(axis=along, keepdims=keepdims))
        return total + (shift if keepdims else shift.reshape(np.shape(total)))


class ReduceLogSumExp_18(ReduceLogSumExp_1):
    """ReduceLogSumExp with axes as an input."""


class ReduceLogSum_1(_Reduction):
    """ReduceLogSum; ONNX's refuses whole numbers in all opsets, and they were allowed before opset 28."""

    def reduce(self, x: Any, along: Any, keepdims: bool) -> Any:
        """Return the logarithm of the sum."""
        return np.log(x.sum(axis=along, keepdims=keepdims))


class ReduceLogSum_18(ReduceLogSum_1):
    """ReduceLogSum with axes as an input."""


class ReduceSumSquare_1(OpRun):  # type: ignore[misc]
    """ReduceSumSquare; ONNX's gives numbers of 64 bits for those of 32."""

    def _run(self, x: Any, axes_input: Any = None, *, axes: Any = None, keepdims: int | None = 1,
             noop_with_empty_axes: int | None = 0) -> tuple[Any]:  # fmt: skip
        along = _axes(axes_input if axes is None else axes, noop_with_empty_axes)
        return (np.asarray(np.square(x).sum(axis=along, keepdims=bool(keepdims))).astype(x.dtype),)


class ReduceSumSquare_18(ReduceSumSquare_1):
    """ReduceSumSquare with axes as an input."""


class Mean_8(OpRun):  # type: ignore[misc]
    """Mean; ONNX's fails where the first input is broadcast."""

    def _run(self, *inputs: Any) -> tuple[Any]:
        total = inputs[0]
        for item in inputs[1:]:
            total = total + item
        return ((total / inputs[0].dtype.type(len(inputs))).astype(inputs[0].dtype),)


class NegativeLogLikelihoodLoss_12(OpRun):  # type: ignore[misc]
    """NegativeLogLikelihoodLoss; ONNX's counts what is ignored in the mean."""

    def _run(self, x: Any, target: Any, weight: Any = None, *, ignore_index: int | None = None,
             reduction: str = "mean") -> tuple[Any]:  # fmt: skip
        ignored = np.zeros(target.shape, bool) if ignore_index is None else target == ignore_index
        chosen = np.where(ignored, 0, target)
        factors = np.ones(x.shape[1], x.dtype) if weight is None else weight
        weights = np.where(ignored, 0, factors[chosen]).astype(x.dtype)
        loss = np.where(ignored, 0, -np.take_along_axis(x, np.expand_dims(chosen, 1), 1)[:, 0] * weights)
        if reduction == "sum":
            loss = loss.sum()
        elif reduction == "mean":
            loss = loss.sum() / weights.sum()
        return (np.asarray(loss).astype(x.dtype),)


class NegativeLogLikelihoodLoss_22(NegativeLogLikelihoodLoss_12):
    """NegativeLogLikelihoodLoss of all floating-point types."""
