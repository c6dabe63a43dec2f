"""ConvTranspose, and convolutions and products of quantised numbers, by ONNX's formulas."""
# ruff: noqa: N801

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_conv import _conv_implementation


class ConvTranspose_11(OpRun):  # type: ignore[misc]
    """ConvTranspose; ONNX's fails with groups, and with some values of `output_shape`."""

    def _run(
        self,
        x: Any,
        w: Any,
        bias: Any = None,
        *,
        group: int = 1,
        output_padding: Any = None,
        output_shape: Any = None,
        strides: Any = None,
        dilations: Any = None,
        pads: Any = None,
        auto_pad: str = "NOTSET",
        **_: Any,
    ) -> tuple[Any]:
        rank = x.ndim - 2
        steps, gaps = list(strides or [1] * rank), list(dilations or [1] * rank)
        more = list(output_padding or [0] * rank)
        whole = [
            step * (size - 1) + (length - 1) * gap + 1
            for size, step, gap, length in zip(x.shape[2:], steps, gaps, w.shape[2:], strict=True)
        ]
        if output_shape:
            output_sizes = list(output_shape)[-rank:]
        elif auto_pad.startswith("SAME"):
            output_sizes = [size * step for size, step in zip(x.shape[2:], steps, strict=True)]
        else:
            explicit_pads = list(pads or [0] * 2 * rank) if auto_pad == "NOTSET" else [0] * 2 * rank
            output_sizes = [whole[at] + more[at] - explicit_pads[at] - explicit_pads[at + rank] for at in range(rank)]
            return (_with_bias(self._cut(x, w, group, steps, gaps, explicit_pads[:rank], output_sizes), bias),)
        is_front = auto_pad != "SAME_UPPER"  # has the odd element
        # What is larger than all that is computed gets zeros at its end, as `output_padding` adds them.
        total = [max(whole[at] + more[at] - output_sizes[at], 0) for at in range(rank)]
        before = [(number + is_front) // 2 for number in total]
        return (_with_bias(self._cut(x, w, group, steps, gaps, before, output_sizes), bias),)

    @staticmethod
    def _cut(
        x: Any,
        w: Any,
        group: int,
        steps: Sequence[int],
        gaps: Sequence[int],
        before: Sequence[int],
        output_sizes: Sequence[int],
    ) -> Any:
        """Add the products of all elements of the kernel where they belong, and cut out what is wanted."""
        lengths = [
            max(step * (size - 1) + (length - 1) * gap + 1, front + out)
            for step, size, length, gap, front, out in zip(
                steps, x.shape[2:], w.shape[2:], gaps, before, output_sizes, strict=True
            )
        ]
        data = x.reshape(x.shape[0], group, -1, *x.shape[2:])
        weights = w.reshape(group, -1, *w.shape[1:])
        canvas = np.zeros((x.shape[0], group, w.shape[1], *lengths), x.dtype)
        for offset in itertools.product(*(range(length) for length in w.shape[2:])):
            element = (..., *offset)
            product = np.einsum("ngc...,gco->ngo...", data, weights[element])
            place = tuple(
                slice(at * gap, at * gap + step * (size - 1) + 1, step)
                for at, gap, step, size in zip(offset, gaps, steps, x.shape[2:], strict=True)
            )
            canvas[(slice(None),) * 3 + place] += product
        y = canvas.reshape(x.shape[0], -1, *lengths)
        if any(front < 0 for front in before):
            y = np.pad(y, [(0, 0), (0, 0), *((max(-front, 0), 0) for front in before)])
        starts = [max(front, 0) for front in before]
        return y[(slice(None),) * 2 + tuple(slice(at, at + out) for at, out in zip(starts, output_sizes, strict=True))]


def _with_bias(y: Any, bias: Any) -> Any:
    return y if bias is None else y + bias.reshape(-1, *(1,) * (y.ndim - 2))


def _codes(whole: Any, scale: Any, zero_point: Any, like: Any) -> Any:
    """Return sums of products as codes: the scaled number is rounded before the zero point is added."""
    dtype = like.dtype if zero_point is None else zero_point.dtype
    limits = np.iinfo(dtype)
    zero = 0 if zero_point is None else zero_point.astype(np.int64)
    return np.clip(np.rint(whole * scale) + zero, limits.min, limits.max).astype(dtype)


def _centred(codes: Any, zero_point: Any, axis: int) -> Any:
    """Return codes without their zero point, of which there is one, or one for each element of an axis."""
    whole = codes.astype(np.int64)
    return whole if zero_point is None else whole - _along(zero_point, whole.ndim, axis).astype(np.int64)


def _along(values: Any, rank: int, axis: int) -> Any:
    """Return a row of numbers as it is broadcast along an axis."""
    if values.ndim != 1:
        return values
    return values.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


class QLinearMatMul_10(OpRun):  # type: ignore[misc]
    """QLinearMatMul; ONNX's adds the zero point before it rounds, so that ties fall to the other side."""

    def _run(
        self, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
    ) -> tuple[Any]:
        whole = np.matmul(_centred(a, a_zero, -2), _centred(b, b_zero, -1))
        rank = max(whole.ndim, 1)
        scale = _along(a_scale, rank, -2 if rank > 1 else -1) * _along(b_scale, rank, -1) / y_scale
        return (_codes(whole, scale, y_zero, a),)


class MatMulInteger_10(OpRun):  # type: ignore[misc]
    """MatMulInteger; ONNX's fails with a zero point for each row of the first matrix."""

    def _run(self, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> tuple[Any]:
        return (np.matmul(_centred(a, a_zero, -2), _centred(b, b_zero, -1)).astype(np.int32),)


class QLinearConv_10(OpRun):  # type: ignore[misc]
    """QLinearConv; ONNX's adds the zero point before it rounds, so that ties fall to the other side."""

    def _run(
        self,
        x: Any,
        x_scale: Any,
        x_zero: Any,
        w: Any,
        w_scale: Any,
        w_zero: Any,
        y_scale: Any,
        y_zero: Any,
        bias: Any = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: Any = None,
        group: int = 1,
        kernel_shape: Any = None,
        pads: Any = None,
        strides: Any = None,
    ) -> tuple[Any]:
        sums = _conv_implementation(
            _centred(x, x_zero, 1),
            _centred(w, w_zero, 0),
            bias,
            auto_pad,
            dilations,
            group,
            kernel_shape,
            pads,
            strides,
        )
        return (_codes(np.rint(sums), x_scale * _along(w_scale, x.ndim, 1) / y_scale, y_zero, x),)
