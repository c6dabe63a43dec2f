"""Operators of the domain com.microsoft that ONNX Runtime's optimiser and quantisers write into files.

The formulas are those of ONNX Runtime's `docs/ContribOperators.md`; what is not computed here is refused with a reason.
Real numbers are calculated in the type that comes in, so that float64 stays float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from polycmp_onnx.operators import MICROSOFT, text
from polycmp_onnx.operators.softmax import softmax
from polycmp_onnx.operators.standard import run_standard

#: What is added to a variance where a file says nothing: by the operators that add a skip connection before, other than
#: by ONNX's and by the one that does not.
_EPSILON = 1e-12
#: Attributes of a convolution.
CONVOLUTION = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


class Microsoft(OpRun):  # type: ignore[misc]
    """An operator without a schema."""

    op_domain = MICROSOFT

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute of the node: there is no schema that would give a missing one its default."""
        value = getattr(self, name, None)
        return default if value is None else value

    def set_attributes(self, names: Sequence[str]) -> dict[str, Any]:
        """Return those of some attributes that the node has."""
        return {name: value for name in names if (value := getattr(self, name, None)) is not None}


class FusedMatMul(Microsoft):
    """MatMul of transposed matrices, times `alpha`."""

    def _run(self, a: Any, b: Any, **_: Any) -> tuple[Any]:
        if self.attribute("transBatchA", 0) or self.attribute("transBatchB", 0):
            raise NotImplementedError("transBatchA and transBatchB")
        left = np.swapaxes(a, -1, -2) if self.attribute("transA", 0) and a.ndim > 1 else a
        right = np.swapaxes(b, -1, -2) if self.attribute("transB", 0) and b.ndim > 1 else b
        return (np.asarray(np.matmul(left, right) * a.dtype.type(self.attribute("alpha", 1.0))),)


class TransposeMatMul(FusedMatMul):
    """FusedMatMul by its old name."""


class FastGelu(Microsoft):
    """GELU by its approximation with tanh: 0.5 x (1 + tanh(0.797885 x + 0.035677 x^3)), a bias added before."""

    def _run(self, x: Any, bias: Any = None, **_: Any) -> tuple[Any]:
        value = x if bias is None else x + bias
        # ONNX Runtime's constants are rounded to these digits (contrib_ops/cpu/bert/bias_gelu_helper.h).
        inner = value * (0.035677408136300125 * value * value + 0.7978845608028654)
        return (np.asarray(0.5 * value * (1 + np.tanh(inner)), x.dtype),)


class Gelu(Microsoft):
    """GELU by the error function."""

    def _run(self, x: Any, **_: Any) -> tuple[Any]:
        return (_gelu(x),)


class BiasGelu(Microsoft):
    """GELU by the error function, a bias added before."""

    def _run(self, x: Any, bias: Any, **_: Any) -> tuple[Any]:
        return (_gelu(x + bias),)


class QuickGelu(Microsoft):
    """x sigmoid(alpha x)."""

    def _run(self, x: Any, **_: Any) -> tuple[Any]:
        with np.errstate(over="ignore"):
            return (np.asarray(x / (1 + np.exp(-self.attribute("alpha", 1.702) * x)), x.dtype),)


class SkipLayerNormalization(Microsoft):
    """Layer normalisation, along the last axis, of a sum; the fourth output is the sum."""

    def _run(self, x: Any, skip: Any, gamma: Any, beta: Any = None, bias: Any = None, **_: Any) -> tuple[Any, ...]:
        total = x + skip if bias is None else x + skip + bias
        epsilon = self.attribute("epsilon", _EPSILON)
        mean = total.mean(axis=-1, keepdims=True)
        inverse = 1 / np.sqrt(total.var(axis=-1, keepdims=True) + epsilon)
        return _as_many(self, (normalised(total, gamma, beta, epsilon), mean, inverse, total), x.dtype)


class SkipSimplifiedLayerNormalization(Microsoft):
    """Root-mean-square normalisation, along the last axis, of a sum; the fourth output is the sum."""

    def _run(self, x: Any, skip: Any, gamma: Any, bias: Any = None, **_: Any) -> tuple[Any, ...]:
        total = x + skip if bias is None else x + skip + bias
        inverse = 1 / np.sqrt((total**2).mean(axis=-1, keepdims=True) + self.attribute("epsilon", _EPSILON))
        return _as_many(self, (total * inverse * gamma, np.zeros(0), inverse, total), x.dtype)


class SimplifiedLayerNormalization(Microsoft):
    """Root-mean-square normalisation from some axis on; ONNX Runtime has it in ONNX's own domain."""

    op_domain = ""

    def _run(self, x: Any, scale: Any, **_: Any) -> tuple[Any, ...]:
        axes = tuple(range(int(self.attribute("axis", -1)) % x.ndim, x.ndim))
        inverse = 1 / np.sqrt((x**2).mean(axis=axes, keepdims=True) + self.attribute("epsilon", 1e-5))
        return _as_many(self, (x * inverse * scale, inverse), x.dtype)


class FusedConv(Microsoft):
    """Conv, another tensor added, then an activation."""

    def _run(self, x: Any, w: Any, b: Any = None, z: Any = None, **_: Any) -> tuple[Any]:
        result = run_standard("Conv", x, w, b, **self.set_attributes(CONVOLUTION))
        kind, values = text(self.attribute("activation", "")), list(self.attribute("activation_params", []))
        return (activated(result if z is None else result + z, kind, values),)


class FusedGemm(Microsoft):
    """Gemm, then an activation."""

    def _run(self, a: Any, b: Any, c: Any = None, **_: Any) -> tuple[Any]:
        result = run_standard("Gemm", a, b, c, **self.set_attributes(("alpha", "beta", "transA", "transB")))
        names = [f"activation_{name}" for name in ("alpha", "beta", "gamma")]
        values = list(self.set_attributes(names).values())
        return (activated(result, text(self.attribute("activation", "")), values),)


class BiasSoftmax(Microsoft):
    """Softmax over the axes from some axis on, of a sum."""

    def _run(self, x: Any, bias: Any, **_: Any) -> tuple[Any]:
        axis = int(self.attribute("axis", 1)) % x.ndim
        inner = bool(self.attribute("is_inner_broadcast", 1))
        # Inner: the bias has one entry for all places between the batch and `axis`, else one for all before `axis`.
        shape = [*bias.shape[: bias.ndim - (x.ndim - axis)], *[1] * x.ndim][:axis] if inner else [1] * axis
        total = x + bias.reshape([*shape, *x.shape[axis:]])
        return (softmax(total.reshape(*x.shape[:axis], -1), -1).reshape(x.shape).astype(x.dtype),)


class MatMulNBits(Microsoft):
    """Product with a matrix of few bits: codes minus a zero point, times a scale per block along K."""

    def _run(
        self,
        a: Any,
        codes: Any,
        scales: Any,
        zero_points: Any = None,
        order: Any = None,
        bias: Any = None,
        **_: Any,
    ) -> tuple[Any]:
        if order is not None:
            raise NotImplementedError("g_idx, an order of rows")
        bits, size = int(self.attribute("bits", 4)), int(self.block_size)
        depth, width = int(self.K), int(self.N)
        blocks = math.ceil(depth / size)
        values = unpacked(codes.reshape(width, blocks, -1), bits)[..., :size].astype(a.dtype)
        values = values - _zeros(zero_points, width, blocks, bits, a.dtype)
        weights = (values * scales.reshape(width, blocks, 1).astype(a.dtype)).reshape(width, -1)[:, :depth]
        product = np.matmul(a, weights.T)
        return (np.asarray(product if bias is None else product + bias, a.dtype),)


class MatMulIntegerToFloat(Microsoft):
    """Product of quantised matrices, scaled back, a bias added."""

    def _run(
        self,
        a: Any,
        b: Any,
        a_scale: Any,
        b_scale: Any,
        a_zero: Any = None,
        b_zero: Any = None,
        bias: Any = None,
        **_: Any,
    ) -> tuple[Any]:
        product = np.matmul(centred(a, a_zero), centred(b, b_zero)).astype(a_scale.dtype) * (a_scale * b_scale)
        return (np.asarray(product if bias is None else product + bias),)


class DynamicQuantizeMatMul(Microsoft):
    """MatMulIntegerToFloat of a matrix that is quantised to eight bits first, as by DynamicQuantizeLinear."""

    def _run(self, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None, **_: Any) -> tuple[Any]:
        product = dynamic_product(a, b, b_scale, b_zero)
        return (np.asarray(product if bias is None else product + bias, a.dtype),)


def normalised(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    """Return the layer normalisation along the last axis."""
    mean = x.mean(axis=-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + epsilon) * gamma
    return scaled if beta is None else scaled + beta


def activated(x: Any, kind: str, values: Sequence[float]) -> Any:
    """Return an activation of ONNX's own domain, of which an attribute of a fused operator gives name and numbers.

    Raises:
        NotImplementedError: An activation that ONNX Runtime does not fuse.
    """
    names = {"Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
             "Clip": ("min", "max"), "Elu": ("alpha",), "": ()}  # fmt: skip
    if kind not in names:
        raise NotImplementedError(f"the activation {kind!r}")
    if not kind:
        return x
    known: dict[str, Any] = dict(zip(names[kind], values, strict=False))
    if kind == "Clip":
        return np.clip(x, *(x.dtype.type(value) for value in known.values()))
    return run_standard(kind, x, **known)


def _gelu(x: Any) -> Any:
    error_function = np.vectorize(math.erf, otypes=[np.float64])
    return np.asarray(0.5 * x * (1 + error_function(x / math.sqrt(2))), x.dtype)


def _as_many(node: OpRun, results: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """Return as many outputs as the node has."""
    return tuple(np.asarray(array, dtype) for array in results[: len(node.onnx_node.output)])


def unpacked(packed: Any, bits: int) -> Any:
    """Return the codes in bytes, the lowest bits first.

    Raises:
        NotImplementedError: So many bits do not fill a byte.
    """
    if bits not in {2, 4, 8}:
        raise NotImplementedError(f"{bits} bits")
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed[..., None] >> shifts) & ((1 << bits) - 1)).reshape(*packed.shape[:-1], -1)


def _zeros(zero_points: Any, width: int, blocks: int, bits: int, dtype: Any) -> Any:
    """Return the zero point of each block: packed like codes, or real numbers; in the middle if there are none."""
    if zero_points is None:
        return np.asarray(1 << (bits - 1), dtype)
    if zero_points.dtype != np.uint8:
        return zero_points.reshape(width, blocks, 1).astype(dtype)
    return unpacked(zero_points.reshape(width, -1), bits)[:, :blocks, None].astype(dtype)


def dynamic_product(a: Any, b: Any, scale: Any, zero: Any = None) -> Any:
    """Return the product with a quantised matrix of a matrix that is quantised as by DynamicQuantizeLinear.

    Args:
        a: Real numbers [..., depth].
        b: Codes [depth, width].
        scale: The steps of `b`, one or as many as it has columns.
        zero: Zero point of the quantised matrix, one or one per column.
    """
    low, high = min(0.0, float(a.min(initial=0))), max(0.0, float(a.max(initial=0)))
    step = a.dtype.type((high - low) / 255 or 1)
    middle = np.clip(np.rint(-low / step), 0, 255)
    codes = np.clip(np.rint(a / step) + middle, 0, 255).astype(np.int32) - int(middle)
    return np.matmul(codes, as_factor(b, zero)).astype(a.dtype) * (step * scale)


def as_factor(codes: Any, zero: Any) -> Any:
    """Return codes minus their zero point as float64: it holds products of codes exactly, and has a fast product.

    Args:
        codes: Codes; real numbers are taken for such factors.
        zero: Their zero point.
    """
    return codes if codes.dtype.kind == "f" else centred(codes, zero).astype(np.float64)


def centred(codes: Any, zero: Any) -> Any:
    """Return codes minus their zero point, as whole numbers of 32 bits."""
    return codes.astype(np.int32) - (0 if zero is None else np.asarray(zero).astype(np.int32))


OPERATORS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        BiasGelu,
        BiasSoftmax,
        DynamicQuantizeMatMul,
        FastGelu,
        FusedConv,
        FusedGemm,
        FusedMatMul,
        Gelu,
        MatMulIntegerToFloat,
        MatMulNBits,
        QuickGelu,
        SkipLayerNormalization,
        SkipSimplifiedLayerNormalization,
        TransposeMatMul,
    )
}
