"""Operators on quantised numbers."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
from onnx import TensorProto

from truth.operators.case import Array, Case, draw, each

_CODES = (
    np.uint8,
    np.int8,
    np.uint16,
    np.int16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.uint4,
    ml_dtypes.int4,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2fnuz,
)


def _codes(shape: tuple[int, ...], dtype: type) -> Array:
    return draw(*shape, dtype=np.int8 if dtype in {np.int8, np.int16, ml_dtypes.int4} else np.uint8).astype(dtype)


def quantising() -> Iterator[Case]:
    """Make cases of QuantizeLinear and DequantizeLinear: per tensor, axis and block, and halves."""
    halves = np.array(
        [[0.5, 1.5, 2.5, -0.5, -1.5, 0], [300, -300, 4000, -40000, 7.4, np.inf], [-np.inf, 0.25, 3, 65535, -6.5, 1]]
    )
    for code in _CODES:
        is_float = np.dtype(code).name.startswith("float8")
        for kind in (np.float32, np.float16):
            with np.errstate(over="ignore"):
                x = (halves if is_float else halves.clip(-6e4, 6e4)).astype(kind)
            zero = np.array(0 if is_float else 3, code)
            for scale in (1.0, 0.5):
                yield from each(
                    "QuantizeLinear", [x, np.array(scale, kind), zero], saturate=[None, 0] if is_float else [None]
                )
            rows = np.array([1, 0.5, 2], kind)
            zeros = np.array([0, 0, 0] if is_float else [0, 1, 2], code)
            yield from each("QuantizeLinear", [x, rows, zeros], axis=[0, -2])
            yield from each("QuantizeLinear", [x.T.copy(), rows, zeros], axis=[None, 1, -1])
            blocks = np.array([[1, 0.5, 2], [0.25, 1, 4], [2, 2, 1]], kind)
            block_zeros = np.zeros((3, 3), code)
            yield from each("QuantizeLinear", [x, blocks, block_zeros], axis=[1], block_size=[2])
            q = _codes((3, 6), code)
            yield from each("DequantizeLinear", [q, np.array(0.5, kind), zero])
            yield from each("DequantizeLinear", [q, np.array(0.5, kind)])
            yield from each("DequantizeLinear", [q, rows, zeros], axis=[0, -2])
            yield from each("DequantizeLinear", [q, blocks, block_zeros], axis=[1], block_size=[2])
            yield from each("DequantizeLinear", [q, blocks], axis=[1], block_size=[2])
    for kind in (np.float32, np.float16):
        x = halves.clip(-6e4, 6e4).astype(kind)
        yield from each(
            "QuantizeLinear",
            [x, np.array(0.5, kind)],
            output_dtype=[None, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT4],
        )
    yield from each("DequantizeLinear", [np.array([2**24 + 1, -7], np.int32), np.array(0.5, np.float32)])
    yield from each("QuantizeLinear", [np.array([1, 7, -9], np.int32), np.array(2, np.float32), np.array(1, np.int8)])
    for values in ([0, 2, -3, -2.5, 1.34, 0.5], [1, 2, 3], [-1, -2], [0, 0], [0.1, 300, 7]):
        yield from each("DynamicQuantizeLinear", [np.array(values, np.float32)], outputs=3)


def multiplying() -> Iterator[Case]:
    """Make cases of QLinearMatMul and QLinearConv."""
    for dtype in (np.uint8, np.int8):
        a, b = draw(2, 3, 4, dtype=dtype), draw(4, 5, dtype=dtype, seed=1)
        one, half = np.array(0.25, np.float32), np.array(0.5, np.float32)
        zero = np.array(1, dtype)
        for scale in (half, np.array([0.5, 0.25, 1, 2, 0.125], np.float32)):
            yield from each("QLinearMatMul", [a, one, zero, b, scale, np.zeros(scale.shape, dtype), half, zero])
        x, w = draw(1, 4, 5, 6, dtype=dtype), draw(6, 2, 3, 3, dtype=dtype, seed=1)
        per_channel = np.array([0.5, 0.25, 1, 2, 0.125, 0.5], np.float32)
        for scale in (half, per_channel):
            for bias in ([], [np.arange(6, dtype=np.int32)]):
                yield from each(
                    "QLinearConv",
                    [x, one, zero, w, scale, np.zeros(scale.shape, dtype), half, zero, *bias],
                    group=[2],
                    pads=[None, [1, 0, 1, 2]],
                    strides=[None, [2, 1]],
                    auto_pad=[None, "SAME_UPPER"],
                    dilations=[None, [1, 2]],
                )
