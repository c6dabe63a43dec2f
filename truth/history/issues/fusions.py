"""Passes of ONNX Runtime's optimiser that changed what a model computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from onnx import TensorProto

from truth.build import Array, Graph
from truth.history.issue import Answer, Case, Issue, case, onnxruntime

_WHERE = "ONNX Runtime: optimiser"
#: Three issues had been tried before they were written down here.
_REVIEW = "asked by a reviewer of tree 54b5e200"


def _cast_half() -> Case:
    g = Graph("cast_half", opset=13)
    x = g.input("x", g.normal(4, 8))
    g.node("Mul", [x, g.const("one", [1.0])], "a")
    g.node("Cast", ["a"], "half", to=TensorProto.FLOAT16)
    g.node("Cast", ["half"], "b", to=TensorProto.FLOAT)
    g.node("Mul", [g.node("Sub", ["a", "b"], "e"), g.const("thousand", [1000.0])], "y")
    g.output("y")
    return case(g, lambda feed: [(feed["x"] - feed["x"].astype(np.float16).astype(np.float32)) * np.float32(1000)])


def _cast_double() -> Case:
    g = Graph("cast_double", opset=13)
    x = g.input("x", np.array([0.99999999999, 1.0, 2.3, 2.99999999999], np.float64))
    g.node("Mul", [x, g.const("one", [1.0], np.float64)], "a")
    g.node("Cast", ["a"], "f", to=TensorProto.FLOAT)
    g.node("Cast", ["f"], "d", to=TensorProto.DOUBLE)
    g.node("Floor", ["d"], "y")
    g.output("y", kind=TensorProto.DOUBLE)
    return case(g, lambda feed: [np.floor(feed["x"].astype(np.float32).astype(np.float64))])


def _cast_unsigned() -> Case:
    g = Graph("cast_unsigned", opset=13)
    x = g.input("x", np.array([-1, -300, 7, 70000], np.int32))
    g.node("Add", [x, g.const("zero", [0], np.int32)], "a")
    g.node("Cast", ["a"], "u", to=TensorProto.UINT32)
    g.node("Cast", ["u"], "l", to=TensorProto.INT64)
    g.node("Cast", ["l"], "y", to=TensorProto.FLOAT)
    g.output("y")
    return case(g, lambda feed: [feed["x"].astype(np.uint32).astype(np.int64).astype(np.float32)])


def _conv_add_group() -> Case:
    g = Graph("conv_add", opset=13)
    x = g.input("x", g.normal(1, 136, 28, 28))
    g.node("Conv", [x, g.weight("w", 136, 34, 1, 1), g.weight("b", 136, scale=0.1)], "c", group=4)
    g.node("Add", ["c", g.weight("add", 1, 136, 28, 28, scale=1.0)], "y")
    g.output("y")
    return case(g)


def _gemm_transpose() -> Case:
    g = Graph("gemm_transpose", opset=13)
    x = g.input("x", g.normal(4, 4))
    g.node("Relu", [x], "a")
    g.node("Transpose", ["a"], "t", perm=[0, 1])
    g.node("MatMul", ["t", g.weight("w", 4, 4)], "m")
    g.node("Add", ["m", g.weight("b", 4, scale=0.1)], "s")
    g.node("Tanh", ["s"], "y")
    g.output("y")
    return case(g)


def _gemm_transpose_weight() -> Case:
    g = Graph("gemm_transpose_weight", opset=13)
    x = g.input("x", g.normal(3, 4))
    w = g.input("w", g.normal(4, 5))
    g.node("Relu", [x], "a")
    g.node("Transpose", [w], "t", perm=[0, 1])
    g.node("Gemm", ["a", "t", g.weight("b", 5, scale=0.1)], "s")
    g.node("Tanh", ["s"], "y")
    g.output("y")
    return case(g)


def _q_max_pool() -> Case:
    g = Graph("q_max_pool", opset=13)
    x = g.input("x", g.normal(1, 1, 6, 6))
    scale, zero = g.const("scale", -0.05), g.const("zero", 3, np.int8)
    g.node("QuantizeLinear", [x, scale, zero], "q1")
    g.node("DequantizeLinear", ["q1", scale, zero], "d1")
    g.node("MaxPool", ["d1"], "p", kernel_shape=[2, 2], strides=[2, 2])
    g.node("QuantizeLinear", ["p", scale, zero], "q2")
    g.node("DequantizeLinear", ["q2", scale, zero], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        codes = np.clip(np.rint(feed["x"] / np.float32(-0.05)) + 3, -128, 127)
        numbers = ((codes - 3) * np.float32(-0.05)).astype(np.float32)
        return [numbers.reshape(1, 1, 3, 2, 3, 2).max((3, 5))]

    return case(g, right)


def _layer_norm_one() -> Case:
    g = Graph("layer_norm", opset=13)
    x = g.input("x", g.normal(2, 4))
    g.node("ReduceMean", [x], "mean", axes=[-1], keepdims=1)
    g.node("Sub", [x, "mean"], "d")
    g.node("Pow", ["d", g.const("two", 2.0)], "sq")
    g.node("ReduceMean", ["sq"], "var", axes=[-1], keepdims=1)
    g.node("Add", ["var", g.const("eps", 1e-5)], "ve")
    g.node("Sqrt", ["ve"], "sd")
    g.node("Div", ["d", "sd"], "n")
    g.node("Mul", ["n", g.const("scale", [0.7])], "m")
    g.node("Add", ["m", g.const("bias", [0.2])], "y")
    g.output("y")
    return case(g)


def _pad_average() -> Case:
    g = Graph("pad_average", opset=13)
    x = g.input("x", np.asarray(1 + np.abs(g.normal(1, 1, 4, 4)), np.float32))
    g.node("Pad", [x, g.ints("pads", 0, 0, 1, 1, 0, 0, 1, 1)], "p")
    g.node("AveragePool", ["p"], "a", kernel_shape=[2, 2])
    g.node("Mul", ["a", g.const("two", [2.0])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        padded = np.pad(feed["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
        return [2 * np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (2, 3)).mean((-1, -2))]

    return case(g, right)


def _matmul_norm(between: str) -> Callable[[], Case]:
    """A product, a transposition or a reshape, a batch normalisation."""

    def make() -> Case:
        g = Graph("matmul_norm", opset=13)
        x = g.input("x", g.normal(2, 3, 4))
        w = g.normal(4, 5)
        g.node("MatMul", [x, g.const("w", w)], "m")
        if between == "Transpose":
            g.node("Transpose", ["m"], "t", perm=[0, 2, 1])
        else:
            g.node("Reshape", ["m", g.ints("shape", -1, 5)], "t")
        scale, bias, mean = 1 + g.normal(5, scale=0.1), g.normal(5), g.normal(5)
        var = np.abs(1 + g.normal(5, scale=0.2))
        parts = zip(("scale", "bias", "mean", "var"), (scale, bias, mean, var), strict=True)
        g.node("BatchNormalization", ["t", *(g.const(name, value) for name, value in parts)], "bn")
        g.node("Relu", ["bn"], "y")
        g.output("y")

        def right(feed: Mapping[str, Array]) -> list[Array]:
            product = feed["x"] @ w
            normal = np.maximum((product - mean) / np.sqrt(var + 1e-5) * scale + bias, 0)
            shaped = normal.transpose(0, 2, 1) if between == "Transpose" else normal.reshape(-1, 5)
            return [shaped.astype(np.float32)]

        return case(g, right)

    return make


def _dequantize_reshape() -> Case:
    g = Graph("dequantize_reshape", opset=21)
    x, w = g.input("x", g.normal(3, 2)), g.input("w", np.array([[-30, 20]], np.int8))
    g.node("DequantizeLinear", [w, g.const("scale", 0.01)], "d")
    g.node("Reshape", ["d", g.ints("shape", 2, 1)], "r")
    g.node("MatMul", [x, "r"], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"] @ (feed["w"].reshape(2, 1) * np.float32(0.01))])


def _reshape_nothing() -> Case:
    g = Graph("reshape_nothing", opset=18)
    x = g.input("x", np.zeros((0, 6, 2), np.float32))
    g.node("Relu", [x], "a")
    g.node("Reshape", ["a", g.ints("first", 3, 2, -1)], "b")
    g.node("Reshape", ["b", g.ints("second", 0, 0, 3)], "c", allowzero=1)
    g.node("Sigmoid", ["c"], "y")
    g.output("y")
    return case(g, lambda feed: [np.zeros((0, 0, 3), np.float32)])


def _there_and_back(g: Graph, x: str, name: str, scale: float, zero: int) -> str:
    """Add QuantizeLinear and DequantizeLinear."""
    parts = [g.const(f"{name}.scale", scale), g.const(f"{name}.zero", zero, np.uint8)]
    return g.node("DequantizeLinear", [g.node("QuantizeLinear", [x, *parts], f"{name}.codes"), *parts], name)


def _real_weights() -> Case:
    """Pixels are quantised, and the weights are not."""
    g = Graph("real_weights", opset=19)
    x = _there_and_back(g, g.input("x", g.normal(1, 3, 8, 8)), "d", 0.03, 128)
    g.node("Tanh", [g.node("Conv", [x, g.weight("w", 4, 3, 3, 3)], "c")], "y")
    g.output("y")
    return case(g)


def _twice_quantised() -> Case:
    g = Graph("twice_quantised", opset=19)
    first = _there_and_back(g, g.input("x", g.normal(1, 3, 8, 8)), "a", 0.03, 128)
    g.node("AveragePool", [_there_and_back(g, first, "b", 0.02, 120)], "p", kernel_shape=[2, 2], strides=[2, 2])
    g.node("Tanh", [_there_and_back(g, "p", "c", 0.02, 128)], "y")
    g.output("y")
    return case(g)


FUSIONS = (
    Issue(
        "Reshape with allowzero behind Reshape",
        _WHERE,
        "onnxruntime#28348",
        "ReshapeFusion drops allowzero, so that 0 copies a dimension",
        _reshape_nothing,
        onnxruntime("1.25.1"),
        onnxruntime("1.28.0"),
        Answer(("b", "c", "y")),
    ),
    Issue(
        "Cast to float16 and back",
        _WHERE,
        "onnxruntime#8787",
        "both Casts are left out, even with the optimiser off",
        _cast_half,
        onnxruntime("1.16.3"),
        onnxruntime("1.17.3"),
        Answer(("half", "b"), (r"(?i)cast",)),
    ),
    Issue(
        "Cast to float and back to double",
        _WHERE,
        "onnxruntime#17565",
        "both Casts are left out, even with the optimiser off",
        _cast_double,
        onnxruntime("1.16.3"),
        onnxruntime("1.17.3"),
        Answer(("f", "d"), (r"(?i)cast",)),
    ),
    Issue(
        "Cast to unsigned and back",
        _WHERE,
        "onnxruntime#17953",
        "the Cast of negative numbers to uint32 is left out",
        _cast_unsigned,
        onnxruntime("1.16.3"),
        onnxruntime("1.17.3"),
        Answer(("u", "l", "y"), (r"(?i)cast",)),
    ),
    Issue(
        "Conv with groups and Add",
        _WHERE,
        "onnxruntime#12498",
        "ConvAddActivationFusion adds for the first group alone",
        _conv_add_group,
        onnxruntime("1.13.1"),
        onnxruntime("1.15.1"),
        Answer(("c", "y")),
    ),
    Issue(
        "Transpose that changes nothing, MatMul, Add",
        _WHERE,
        "onnxruntime#32228",
        "GemmTransposeFusion folds a Transpose with perm [0, 1] as if it were [1, 0]",
        _gemm_transpose,
        onnxruntime("1.28.0"),
        onnxruntime("1.30.0"),
        Answer(("t",)),
    ),
    Issue(
        "Transpose that changes nothing before Gemm",
        _WHERE,
        "onnxruntime#32418",
        "GemmTransposeFusion folds a Transpose with perm [0, 1]; the model cannot run",
        _gemm_transpose_weight,
        onnxruntime("1.28.0"),
        onnxruntime("1.30.0"),
        Answer(("t", "s")),
    ),
    Issue(
        "MaxPool between negative scales",
        _WHERE,
        "onnxruntime#21176",
        "QuantizeLinear and DequantizeLinear around MaxPool are dropped although the scale turns the order",
        _q_max_pool,
        onnxruntime("1.18.1"),
        onnxruntime("1.20.1"),
        Answer(("p",)),
    ),
    Issue(
        "LayerNormalization with a scale of one element",
        _WHERE,
        "onnxruntime#25855",
        "LayerNormFusion takes a scale that is broadcast; the model cannot run",
        _layer_norm_one,
        onnxruntime("1.23.2"),
        onnxruntime("1.25.1"),
        Answer(("mean", "d", "sq", "var", "ve", "sd", "n", "m", "y")),
    ),
    Issue(
        "Pad and AveragePool",
        _WHERE,
        "onnxruntime#22177",
        "PadFusion drops the padding from the means",
        _pad_average,
        onnxruntime("1.20.1"),
        onnxruntime("1.21.1"),
        Answer(("p", "a")),
    ),
    Issue(
        "MatMul, Transpose, BatchNormalization",
        _WHERE,
        "onnxruntime#22512",
        "MatMulBatchNormFusion makes a Gemm of three dimensions; the model cannot run",
        _matmul_norm("Transpose"),
        onnxruntime("1.20.1"),
        onnxruntime("1.21.1"),
        Answer(("m", "t", "bn")),
    ),
    Issue(
        "MatMul, Reshape, BatchNormalization",
        _WHERE,
        "onnxruntime#22512",
        "MatMulBatchNormFusion makes a Gemm of three dimensions; the model cannot run",
        _matmul_norm("Reshape"),
        onnxruntime("1.20.1"),
        onnxruntime("1.21.1"),
        Answer(("m", "t", "bn")),
    ),
    Issue(
        "DequantizeLinear of int8 and Reshape",
        _WHERE,
        "onnxruntime#27845",
        "a QuantizeLinear to uint8 is put in behind Reshape: negative numbers become 0",
        _dequantize_reshape,
        onnxruntime("1.23.2"),
        onnxruntime("1.27.0"),
        Answer(("d", "r")),
    ),
    Issue(
        "Conv with real weights behind DequantizeLinear",
        _WHERE,
        "onnxruntime#24398",
        "WeightBiasQuantization rounds the weights to 8 bits",
        _real_weights,
        onnxruntime("1.21.1"),
        onnxruntime("1.20.1"),
        Answer(("c",), ("WeightBiasQuantization|over passes",)),
        first=f"{_REVIEW}: undecided, no tensor is off by more than rounding explains",
    ),
    Issue(
        "AveragePool behind two pairs of QuantizeLinear",
        _WHERE,
        "onnxruntime#28030",
        "DoubleQDQPairsRemover gives a scale a dimension; the model cannot run",
        _twice_quantised,
        onnxruntime("1.25.1"),
        onnxruntime("1.30.0"),
        Answer(("p", "a", "b", "c"), ("DoubleQDQPairsRemover",)),
        rounds=True,
        tolerance=0.06,
        first=f"{_REVIEW}: the pass that mends it, too, was named, and not the one that is wrong",
    ),
)
