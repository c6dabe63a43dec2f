"""Operators of older opsets, which ONNX's reference evaluator refuses or takes for newer ones."""
# ruff: noqa: N801

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_conv_transpose import ConvTranspose
from onnx.reference.ops.op_cum_sum import CumSum
from onnx.reference.ops.op_grid_sample import GridSample
from onnx.reference.ops.op_gru import GRU
from onnx.reference.ops.op_lstm import LSTM
from onnx.reference.ops.op_one_hot import OneHot
from onnx.reference.ops.op_rnn import RNN_14
from onnx.reference.ops.op_roi_align import RoiAlign

from polycmp_onnx.operators.resizing import resize


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


class GridSample_16(GridSample):  # type: ignore[misc]
    """GridSample before opset 20, whose modes have other names."""

    def _run(self, x: Any, grid: Any, *, mode: str = "bilinear", **attributes: Any) -> tuple[Any, ...]:
        name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        return tuple(super()._run(x, grid, mode=name, **attributes))


class ConvTranspose_11(ConvTranspose):  # type: ignore[misc]
    """ConvTranspose; ONNX's fails with more than one group."""

    def _run(self, x: Any, w: Any, bias: Any = None, *, group: int = 1, **attributes: Any) -> tuple[Any]:
        parts = zip(np.split(x, group, axis=1), np.split(w, group, axis=0), strict=True)
        y = np.concatenate(
            [super(ConvTranspose_11, self)._run(a, b, None, group=1, **attributes)[0] for a, b in parts], 1
        )
        return (y if bias is None else y + bias.reshape(-1, *(1,) * (x.ndim - 2)),)


class OneHot_9(OneHot):  # type: ignore[misc]
    """OneHot; ONNX's fails where the depth is a list of one number, which the standard allows."""

    def _run(self, indices: Any, depth: Any, values: Any, **attributes: Any) -> tuple[Any]:
        (made,) = super()._run(indices, np.asarray(depth).reshape(()), values, **attributes)
        return (made,)


class CumSum_11(CumSum):  # type: ignore[misc]
    """CumSum; ONNX's fails where the axis is a list of one number, which runtimes take and exporters write."""

    def _run(self, x: Any, axis: Any, **attributes: Any) -> tuple[Any]:
        (made,) = super()._run(x, np.asarray(axis).reshape(()), **attributes)
        return (made,)


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


class _Recurrent(OpRun):  # type: ignore[misc]
    """Refuses what ONNX's recurrent operators ignore: their result would be wrong without a word."""

    #: The only activations that ONNX's class computes, in order; empty if it checks them itself.
    defaults: tuple[str, ...] = ()

    def _run(self, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        lengths = inputs[4] if len(inputs) > 4 else None
        if lengths is not None and (np.asarray(lengths) != inputs[0].shape[attributes.get("layout") or 0]).any():
            raise NotImplementedError("sequence_lens shorter than the input, which ONNX's reference ignores")
        if attributes.get("clip"):
            raise NotImplementedError("clip, which ONNX's reference ignores")
        functions = tuple(attributes.get("activations") or ())
        if self.defaults and any(
            name != self.defaults[index % len(self.defaults)] for index, name in enumerate(functions)
        ):
            raise NotImplementedError(f"activations {list(functions)}, which ONNX's reference ignores")
        return tuple(super()._run(*inputs, **attributes))


class LSTM_14(_Recurrent, LSTM):  # type: ignore[misc]
    """LSTM; ONNX's ignores `sequence_lens`, `clip` and `activations`."""

    defaults = ("Sigmoid", "Tanh", "Tanh")


class GRU_14(_Recurrent, GRU):  # type: ignore[misc]
    """GRU; ONNX's ignores `sequence_lens`, `clip` and `activations`."""

    defaults = ("Sigmoid", "Tanh")


class CheckedRNN_14(_Recurrent, RNN_14):  # type: ignore[misc]
    """RNN; ONNX's ignores `sequence_lens` and `clip`, and refuses activations that it lacks itself."""
