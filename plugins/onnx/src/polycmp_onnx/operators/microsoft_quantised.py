"""Operators on quantised tensors of the domain com.microsoft, by ONNX Runtime's `docs/ContribOperators.md`.

Each scales back, calculates with real numbers, and quantises again, as the document writes the formulas; sums of
products are whole numbers. ONNX Runtime's kernels come to the same within a step at ties.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp_onnx.operators.microsoft import CONVOLUTION, Microsoft, centred, unpacked
from polycmp_onnx.operators.standard import run_standard


def real(codes: Any, scale: Any, zero: Any = None) -> Any:
    """Dequantise codes."""
    factor = np.asarray(scale)
    return centred(codes, zero).astype(factor.dtype) * factor


def quantised(values: Any, scale: Any, zero: Any, kind: Any) -> Any:
    """Return the codes of real numbers, ties to even, cut off at the type's limits."""
    limits = np.iinfo(kind)
    steps = np.rint(values / np.asarray(scale)) + (0 if zero is None else np.asarray(zero).astype(np.int32))
    return np.clip(steps, limits.min, limits.max).astype(kind)


class QLinearAdd(Microsoft):
    """Sum of quantised tensors."""

    def _run(self, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, *to: Any, **_: Any) -> Any:
        total = real(a, a_scale, a_zero) + real(b, b_scale, b_zero)
        return (quantised(total, *_target(to), a.dtype),)


class QLinearMul(Microsoft):
    """Product, element by element, of quantised tensors."""

    def _run(self, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, *to: Any, **_: Any) -> Any:
        product = real(centred(a, a_zero) * centred(b, b_zero), np.asarray(a_scale) * np.asarray(b_scale))
        return (quantised(product, *_target(to), a.dtype),)


class QLinearLeakyRelu(Microsoft):
    """LeakyRelu of a quantised tensor."""

    def _run(self, x: Any, scale: Any, zero: Any, *to: Any, **_: Any) -> Any:
        values = real(x, scale, zero)
        result = np.where(values < 0, values.dtype.type(self.attribute("alpha", 0.01)) * values, values)
        return (quantised(result, *_target(to), x.dtype),)


class QLinearSigmoid(Microsoft):
    """Sigmoid of a quantised tensor."""

    def _run(self, x: Any, scale: Any, zero: Any, *to: Any, **_: Any) -> Any:
        result = run_standard("Sigmoid", real(x, scale, zero))
        return (quantised(result, *_target(to), x.dtype),)


class QLinearSoftmax(Microsoft):
    """Softmax of a quantised tensor, of an opset that an attribute names."""

    def _run(self, x: Any, scale: Any, zero: Any, *to: Any, **_: Any) -> Any:
        result = run_standard("Softmax", real(x, scale, zero), opset=int(self.opset), axis=self.attribute("axis", -1))
        return (quantised(result, *_target(to), x.dtype),)


class QLinearAveragePool(Microsoft):
    """AveragePool of a quantised tensor."""

    def _run(self, x: Any, scale: Any, zero: Any, *to: Any, **_: Any) -> Any:
        names = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
        values = _channels_first(self, real(x, scale, zero))
        result = run_standard("AveragePool", values, **self.set_attributes(names))
        return (quantised(_channels_back(self, result), *_target(to), x.dtype),)


class QLinearGlobalAveragePool(Microsoft):
    """GlobalAveragePool of a quantised tensor."""

    def _run(self, x: Any, scale: Any, zero: Any, *to: Any, **_: Any) -> Any:
        values = _channels_first(self, real(x, scale, zero))
        result = values.mean(axis=tuple(range(2, values.ndim)), keepdims=True)
        return (quantised(_channels_back(self, result), *_target(to), x.dtype),)


class QLinearConcat(Microsoft):
    """Concatenation of quantised tensors, each with a scale and a zero point of its own."""

    def _run(self, scale: Any, zero: Any, *parts: Any, **_: Any) -> Any:
        values = [real(*parts[at : at + 3]) for at in range(0, len(parts), 3)]
        return (quantised(np.concatenate(values, axis=int(self.axis)), scale, zero, np.asarray(zero).dtype),)


class QLinearWhere(Microsoft):
    """ONNX's `Where` on quantised tensors."""

    def _run(
        self, condition: Any, x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any, *to: Any, **_: Any
    ) -> Any:
        result = np.where(condition, real(x, x_scale, x_zero), real(y, y_scale, y_zero))
        return (quantised(result, *_target(to), x.dtype),)


class QGemm(Microsoft):
    """Gemm of quantised matrices; without a target scale the result stays real."""

    def _run(
        self,
        a: Any,
        a_scale: Any,
        a_zero: Any,
        b: Any,
        b_scale: Any,
        b_zero: Any,
        c: Any = None,
        y_scale: Any = None,
        y_zero: Any = None,
        **_: Any,
    ) -> Any:
        left = centred(a, a_zero)
        right = centred(b, b_zero if self.attribute("transB", 0) == 0 else np.asarray(b_zero)[..., None])
        left, right = (
            part.T if self.attribute(name, 0) else part for part, name in ((left, "transA"), (right, "transB"))
        )
        whole = np.matmul(left, right) + (0 if c is None else c)
        scale = np.asarray(a_scale) * np.asarray(b_scale)
        result = real(whole, scale * scale.dtype.type(self.attribute("alpha", 1.0)))
        return (result if y_scale is None else quantised(result, y_scale, y_zero, np.asarray(y_zero).dtype),)


class QLinearConv(Microsoft):
    """QLinearConv of tensors that may have their channels last."""

    def _run(self, x: Any, x_scale: Any, x_zero: Any, w: Any, *more: Any, **_: Any) -> Any:
        values = _channels_first(self, x)
        result = run_standard("QLinearConv", values, x_scale, x_zero, w, *more, **self.set_attributes(CONVOLUTION))
        return (_channels_back(self, result),)


class NhwcMaxPool(Microsoft):
    """MaxPool of a quantised tensor with its channels last."""

    def _run(self, x: Any, **_: Any) -> Any:
        names = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")
        result = run_standard("MaxPool", np.moveaxis(x, -1, 1), **self.set_attributes(names))
        return (np.ascontiguousarray(np.moveaxis(result, 1, -1)),)


class QuantizeLinear(Microsoft):
    """QuantizeLinear, also to 16 bits in opsets that have no such type."""

    def _run(self, x: Any, scale: Any, zero: Any = None, **_: Any) -> Any:
        zero = np.uint8(0) if zero is None else zero
        axis = self.attribute("axis", 1)
        steps, middle = (along(part, x.ndim, axis) for part in (scale, zero))
        return (quantised(x, steps, middle, np.asarray(zero).dtype),)


class DequantizeLinear(Microsoft):
    """DequantizeLinear, also of 16 bits in opsets that have no such type."""

    def _run(self, x: Any, scale: Any, zero: Any = None, **_: Any) -> Any:
        axis = self.attribute("axis", 1)
        middle = None if zero is None else along(zero, x.ndim, axis)
        return (real(x, along(scale, x.ndim, axis), middle),)


class GatherBlockQuantized(Microsoft):
    """Gather of rows whose numbers are quantised in blocks."""

    def _run(self, data: Any, indices: Any, scales: Any, zeros: Any = None, **_: Any) -> Any:
        axis, size = int(self.attribute("quantize_axis", 1)) % data.ndim, int(self.attribute("block_size", 128))
        codes, middle = data, zeros
        if data.dtype == np.uint8:
            bits = int(self.attribute("bits", 4))
            codes = unpacked(data, bits)
            middle = np.asarray(1 << (bits - 1)) if zeros is None else unpacked(zeros, bits)[..., : scales.shape[-1]]
        elif data.dtype.kind == "f" or "float" in data.dtype.name:
            raise NotImplementedError("data of eight or four bits that are real numbers")
        length = codes.shape[axis]
        steps = np.repeat(scales, size, axis=axis).take(range(length), axis=axis)
        if middle is not None and middle.ndim:
            middle = np.repeat(middle.astype(np.int32), size, axis=axis).take(range(length), axis=axis)
        table = codes.astype(np.int32) - (0 if middle is None else middle.astype(np.int32))
        values = table.astype(scales.dtype) * steps
        return (np.take(values, indices, axis=int(self.attribute("gather_axis", 0))),)


def along(parameter: Any, rank: int, axis: int) -> Any:
    """Return a scale or zero point in a shape that is broadcast along an axis."""
    array = np.asarray(parameter)
    return array if array.size == 1 else array.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


def _target(to: tuple[Any, ...]) -> tuple[Any, Any]:
    return to[0], to[1] if len(to) > 1 else None


def _channels_first(node: Microsoft, array: Any) -> Any:
    return np.moveaxis(array, -1, 1) if node.attribute("channels_last", 0) else array


def _channels_back(node: Microsoft, array: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if node.attribute("channels_last", 0) else array


OPERATORS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        DequantizeLinear,
        GatherBlockQuantized,
        NhwcMaxPool,
        QGemm,
        QLinearAdd,
        QLinearAveragePool,
        QLinearConcat,
        QLinearConv,
        QLinearGlobalAveragePool,
        QLinearLeakyRelu,
        QLinearMul,
        QLinearSigmoid,
        QLinearSoftmax,
        QLinearWhere,
        QuantizeLinear,
    )
}
