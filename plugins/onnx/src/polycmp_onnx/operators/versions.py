"""Operators of older opsets, which ONNX's reference evaluator refuses or takes for newer ones."""
# ruff: noqa: N801

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_cum_sum import CumSum
from onnx.reference.ops.op_det import Det
from onnx.reference.ops.op_non_max_suppression import NonMaxSuppression
from onnx.reference.ops.op_roi_align import RoiAlign
from onnx.reference.ops.op_stft import STFT
from onnx.reference.ops.op_tfidf_vectorizer import TfIdfVectorizer

from polycmp_onnx.operators.resizing import resize

#: Dimensions of a signal: batch, time, and the parts of a number.
_SIGNAL_RANK = 3


class Resize_10(OpRun):  # type: ignore[misc]
    """Resize of opset 10, and Upsample: scales only, corners at the same place, nearest means the one below."""

    def _run(self, x: Any, scales: Any = None, *, mode: str = "nearest", **_: Any) -> tuple[Any]:
        resized = resize(
            x,
            scales=np.asarray(self.scales if scales is None else scales, np.float32),
            mode="linear" if mode == "bilinear" else mode,
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        return (resized,)


class Upsample_7(Resize_10):
    """Upsample of opset 7, whose scales are an attribute."""


class Upsample_9(Resize_10):
    """Upsample of opset 9; ONNX's only repeats elements a whole number of times."""


class RoiAlign_10(RoiAlign):  # type: ignore[misc]
    """RoiAlign before opset 16, where boxes are not shifted by half a pixel."""

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return tuple(super()._run(*inputs, **{**attributes, "coordinate_transformation_mode": "output_half_pixel"}))


class OneHot_11(OpRun):  # type: ignore[misc]
    """OneHot; ONNX's fails where the depth is a list of one number, and in older releases takes any index modulo it."""

    def _run(self, indices: Any, depth: Any, values: Any, *, axis: int = -1) -> tuple[Any]:
        size = int(np.reshape(depth, ()))
        positions = np.expand_dims(np.asarray(indices).astype(np.int64), axis)
        classes = np.moveaxis(np.arange(size).reshape(size, *(1,) * (positions.ndim - 1)), 0, axis)
        return (np.where(classes == np.where(positions < 0, positions + size, positions), values[1], values[0]),)


class OneHot_9(OneHot_11):
    """OneHot before opset 11, where an index below 0 is no index."""

    def _run(self, indices: Any, depth: Any, values: Any, **attributes: Any) -> tuple[Any]:
        valid_indices = np.where(indices < 0, np.asarray(depth).reshape(()), indices)
        (result,) = super()._run(valid_indices, depth, values, **attributes)
        return (result,)


class CumSum_11(CumSum):  # type: ignore[misc]
    """CumSum; ONNX's fails where the axis is a list of one number, which runtimes take and exporters write."""

    def _run(self, x: Any, axis: Any, **attributes: Any) -> tuple[Any]:
        (result,) = super()._run(x, np.asarray(axis).reshape(()), **attributes)
        return (result,)


class CumProd_26(OpRun):  # type: ignore[misc]
    """CumProd; ONNX's fails where the axis is a list of one number, which runtimes take."""

    def _run(self, x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> tuple[Any]:
        at = int(np.reshape(axis, ()))
        data = np.flip(x, at) if reverse else x
        result = np.cumprod(data, axis=at, dtype=x.dtype)
        if exclusive:
            ones = np.ones_like(np.take(result, [0], axis=at)) if result.shape[at] else result
            result = np.concatenate([ones, np.take(result, range(result.shape[at] - 1), axis=at)], axis=at)
        return (np.flip(result, at) if reverse else result,)


class Det_11(Det):  # type: ignore[misc]
    """Det; ONNX's fails in float16."""

    def _run(self, x: Any) -> tuple[Any]:
        (result,) = super()._run(x.astype(np.float32) if x.dtype.itemsize < 4 else x)
        return (result.astype(x.dtype),)


class Div_7(OpRun):  # type: ignore[misc]
    """Div; older releases of ONNX's divide whole numbers as real ones, which rounds large ones."""

    def _run(self, a: Any, b: Any) -> tuple[Any]:
        if a.dtype.kind not in "iu":
            return (np.divide(a, b).astype(a.dtype, copy=False),)
        floor = a // b
        return (floor + ((a % b != 0) & ((a < 0) != (b < 0))).astype(floor.dtype),)


class Dropout_7(OpRun):  # type: ignore[misc]
    """Dropout of opsets 7 to 9, where nothing is dropped and the mask has the type of the data."""

    def _run(self, x: Any, **_: Any) -> tuple[Any, ...]:
        return (x, np.ones_like(x))[: len(self.onnx_node.output)]


class Flatten_1(OpRun):  # type: ignore[misc]
    """Flatten; ONNX's fails where a dimension is 0."""

    def _run(self, x: Any, *, axis: int = 1) -> tuple[Any]:
        first = axis % x.ndim if axis < 0 else axis
        return (x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:])),)


class NonMaxSuppression_10(NonMaxSuppression):  # type: ignore[misc]
    """NonMaxSuppression; ONNX's fails where optional inputs are left out."""

    def _run(self, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None,
             **attributes: Any) -> tuple[Any]:  # fmt: skip
        if most is None or not np.reshape(most, -1)[0]:
            return (np.empty((0, 3), np.int64),)  # the default is that there is no output
        limits = [np.array([-np.inf if at else 0], np.float32) if item is None else item
                  for at, item in enumerate((overlap, least))]  # fmt: skip
        (result,) = super()._run(boxes, scores, most, *limits, **attributes)
        return (result.reshape(-1, 3),)


class Shape_15(OpRun):  # type: ignore[misc]
    """Shape; ONNX's does not clip an end that lies before the first dimension."""

    def _run(self, x: Any, *, start: int | None = 0, end: int | None = None) -> tuple[Any]:
        limits = [
            min(max(at + x.ndim if at < 0 else at, 0), x.ndim) for at in (start or 0, x.ndim if end is None else end)
        ]
        return (np.array(x.shape[slice(*limits)], np.int64),)


class Softsign_1(OpRun):  # type: ignore[misc]
    """Softsign; ONNX's fails for a scalar."""

    def _run(self, x: Any) -> tuple[Any]:
        return (np.asarray(x / (1 + np.abs(x))).astype(x.dtype),)


class Squeeze_11(OpRun):  # type: ignore[misc]
    """Squeeze before opset 13; ONNX's fails where axes are not in order."""

    def _run(self, x: Any, *, axes: Any = None) -> tuple[Any]:
        return (np.squeeze(x, None if axes is None else tuple(axes)),)


class Unsqueeze_11(OpRun):  # type: ignore[misc]
    """Unsqueeze before opset 13; ONNX's lets the order of axes decide, which must not matter."""

    def _run(self, x: Any, *, axes: Any) -> tuple[Any]:
        return (np.expand_dims(x, tuple(axes)),)


class STFT_17(STFT):  # type: ignore[misc]
    """STFT; ONNX's fails without a window or a length, and for signals of two dimensions."""

    def _run(self, x: Any, step: Any, window: Any = None, length: Any = None, **attributes: Any) -> tuple[Any]:
        signal = x[..., None] if x.ndim < _SIGNAL_RANK else x
        if length is None:
            length = np.array(signal.shape[1] if window is None else len(window))
        if window is None:
            window = np.ones(int(length), x.dtype)
        (result,) = super()._run(signal, step, window, length, **attributes)
        return (result,)


class TfIdfVectorizer_9(TfIdfVectorizer):  # type: ignore[misc]
    """TfIdfVectorizer; ONNX's fails without weights, which are ones then."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        weights: Any = getattr(self, "weights", None)
        self.weights = self.weights_ = weights or [1.0] * len(self.ngram_indexes)


class Unique_11(OpRun):  # type: ignore[misc]
    """Unique; with `sorted` 0 ONNX's sorts all the same, or takes rows where the axis is another one."""

    def _run(self, x: Any, axis: int | None = None, sorted: int | None = 1) -> tuple[Any, ...]:
        values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
        inverse = inverse.reshape(-1)
        if sorted == 0:
            order = np.argsort(first)
            values = np.take(values, order, axis=0 if axis is None else axis)
            first, inverse, counts = first[order], np.argsort(order)[inverse], counts[order]
        numbers = (item.astype(np.int64) for item in (first, inverse, counts))
        return (values, *numbers)[: len(self.onnx_node.output)]


class StringNormalizer_10(OpRun):  # type: ignore[misc]
    """StringNormalizer; ONNX's drops empty texts, and heeds the case of stop words where it is not to."""

    def _run(self, x: Any, *, case_change_action: str = "NONE", is_case_sensitive: int = 0, stopwords: Any = None,
             **_: Any) -> tuple[Any]:  # fmt: skip
        as_compared = str if is_case_sensitive else str.lower
        stop_set = {as_compared(word) for word in stopwords or ()}
        texts = [text for text in x.reshape(-1).tolist() if as_compared(text) not in stop_set] or [""]
        change = {"LOWER": str.lower, "UPPER": str.upper}.get(case_change_action, str)
        changed = np.array([change(text) for text in texts], object)
        return (changed.reshape(1, -1) if x.ndim > 1 else changed,)
