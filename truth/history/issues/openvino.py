"""What OpenVINO read or computed wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from truth.build import Array, Graph
from truth.history.issue import Answer, Case, Issue, case, openvino, typed


def _reduce(op: str, right: Callable[[Array], Array]) -> Callable[[], Case]:
    def make() -> Case:
        g = Graph("reduce", opset=18)
        g.node("Sigmoid", [g.input("x", g.normal(2, 3, 4))], "s")
        g.node(op, ["s", g.ints("axes", 1)], "r", keepdims=1)
        g.node("Add", ["r", g.const("one", [1.0])], "y")
        g.output("y")
        return case(g, lambda feed: [right(1 / (1 + np.exp(-feed["x"]))) + 1])

    return make


def _log_sum_exp() -> Case:
    g = Graph("log_sum_exp", opset=18)
    g.node("Mul", [g.input("x", np.array([[10.0, 20.0], [1.0, 2.0]], np.float32)), g.const("ten", [10.0])], "a")
    g.node("ReduceLogSumExp", ["a", g.ints("axes", 1)], "r", keepdims=0)
    g.node("Add", ["r", g.const("one", [1.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.array([201.0, 21.0 + np.log1p(np.exp(-10))], np.float32)])


def _lp_normalization() -> Case:
    g = Graph("lp_normalization", opset=14)
    g.node("Relu", [g.input("x", np.array([[-1, 0, 0], [3, 4, 0]], np.float32))], "a")
    g.node("LpNormalization", ["a"], "n", axis=1, p=2)
    g.node("Mul", ["n", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.array([[0, 0, 0], [1.2, 1.6, 0]], np.float32)])


def _one_hot() -> Case:
    g = Graph("one_hot", opset=13)
    x = g.input("x", np.array([[-1, 1], [3, -3]], np.int64))
    g.node("OneHot", [x, g.ints("depth", 4), g.const("values", [0.0, 5.0])], "h", axis=1)
    g.node("Mul", ["h", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.where(np.arange(4)[None, :, None] == feed["x"][:, None] % 4, 10, 0).astype("f4")])


def _least_of_joined() -> Case:
    g = Graph("least", opset=17)
    g.node("Relu", [g.input("x", np.array([5.0], np.float32))], "a")
    g.node("Concat", ["a", g.const("c", [4.0, 1.5, 7.0, 6.0, 2.0, 9.0])], "k", axis=0)
    g.node("ReduceMin", ["k"], "r", axes=[0], keepdims=0)
    g.node("Add", ["r", g.const("half", 0.5)], "y")
    g.output("y")
    return case(g, lambda feed: [np.minimum(np.maximum(feed["x"], 0).min(), np.float32(1.5)) + np.float32(0.5)])


def _mean(x: Array) -> Array:
    return np.asarray(x.mean(1, keepdims=True))


def _sum(x: Array) -> Array:
    return np.asarray(np.abs(x).sum(1, keepdims=True))


def _max(x: Array) -> Array:
    return np.asarray(x.max(1, keepdims=True))


def sum_and_bias() -> Case:
    """Make the model."""
    g = Graph("sum_and_bias", opset=13)
    product = g.node("Mul", [g.input("x", g.normal(1, 1536, 4)), g.const("w", g.rng.random((1536, 4)))], "m")
    g.node("ReduceSum", [product, g.ints("axes", -1)], "s", keepdims=0)
    g.node("Add", ["s", g.const("b", g.rng.random(1536))], "y")
    g.output("y")
    return case(g)


def range_of_elements() -> Case:
    """Make the model."""
    g = Graph("range", opset=11)
    names = [g.input(name, np.array([value], np.float32)) for name, value in (("a", 1), ("b", 5), ("step", 2))]
    g.node("Range", names, "y")
    g.output("y")
    return case(g, lambda feed: [np.array([1, 3], np.float32)])


def trilu() -> Case:
    """Make the model."""
    g = Graph("trilu", opset=14)
    x = g.input("x", np.arange(20, dtype=np.int64).reshape(4, 5))
    g.node("Trilu", [x, g.input("k", np.array([1], np.int64))], "y")
    typed(g, "y", TensorProto.INT64)
    return case(g, lambda feed: [np.triu(feed["x"], 1)])


def power_average() -> Case:
    """Return an average over windows of powers, as an Lp pool with an odd order becomes."""
    g = Graph("power_average", opset=17)
    g.node("Pow", [g.input("x", g.normal(1, 3, 7, 7)), g.const("p", 1.5)], "powers")
    g.node("AveragePool", ["powers"], "a", kernel_shape=[2, 2], strides=[2, 2])
    g.node("Relu", [g.node("Abs", ["a"], "size")], "positive")
    g.node("Mul", [g.node("Sign", ["a"], "sign"), "positive"], "signed")
    g.node("Pow", [g.node("Mul", ["signed", g.const("four", 4.0)], "sums"), g.const("root", 1 / 1.5)], "y")
    g.output("y")
    return case(g, _power_average_right)


def _power_average_right(feed: Mapping[str, Array]) -> list[Array]:
    with np.errstate(invalid="ignore"):
        powers = feed["x"].astype(np.float64) ** 1.5
        parts = np.lib.stride_tricks.sliding_window_view(powers, (2, 2), axis=(2, 3))[:, :, ::2, ::2]
        mean = parts.mean((4, 5))
        return [np.asarray((np.sign(mean) * np.abs(mean) * 4) ** (1 / 1.5), np.float32)]


def shape_from_the_end() -> Case:
    """Make the model."""
    g = Graph("shape", opset=15)
    g.node("Shape", [g.input("x", g.normal(3, 4, 5))], "y", start=-1)
    typed(g, "y", TensorProto.INT64)
    return case(g, lambda feed: [np.array([5])])


def mean_of_integers() -> Case:
    """Make the model."""
    g = Graph("mean_of_integers", opset=13)
    x = g.input("x", np.random.default_rng(0).integers(0, 2, (1, 11, 1, 7)).astype(np.int32))
    g.node("ReduceMean", [x], "y", axes=[1, 2], keepdims=0)
    typed(g, "y", TensorProto.INT32)
    return case(g, lambda feed: [feed["x"].sum((1, 2)) // 11])


def arg_min() -> Case:
    """Make the model."""
    g = Graph("arg_min", opset=11)
    x = np.full(16, -1, np.int32)
    x[:1] = 0
    g.node("ArgMin", [g.input("x", x)], "y", axis=0, keepdims=1)
    typed(g, "y", TensorProto.INT64)
    return case(g, lambda feed: [np.array([1])])


def _softsign() -> Case:
    """The kernel for dimensions that are not known is wrong, and that for known ones is not."""
    g = Graph("softsign", opset=17)
    x = g.input("x", g.normal(1, 2, 4, 4), ["n", 2, "h", "w"])
    g.node("Softsign", [g.node("Mul", [x, g.const("a", 1.5)], "m")], "s")
    g.node("Abs", [g.node("Mul", ["s", g.const("b", 3.0)], "t")], "u")
    g.node("Add", ["u", x], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        wide = feed["x"] * np.float32(1.5)
        return [np.abs(3 * wide / (1 + np.abs(wide))) + feed["x"]]

    return case(g, right)


def _cast(values: Array, kind: int) -> Case:
    """Return a model that casts numbers to a type and back."""
    g = Graph("cast", opset=13)
    g.node("Cast", [g.input("x", values)], "c", to=kind)
    g.node("Cast", ["c"], "f", to=TensorProto.FLOAT)
    g.node("Add", ["f", g.const("one", [1.0])], "y")
    g.output("y")
    kinds = {TensorProto.BOOL: bool, TensorProto.UINT8: np.uint8, TensorProto.INT32: np.int32}
    return case(g, lambda feed: [feed["x"].astype(kinds[kind]).astype(np.float32) + 1])


def _cast_to_bool() -> Case:
    return _cast(np.array([0.5, 0, 2, -1], np.float32), TensorProto.BOOL)


def _cast_to_uint8() -> Case:
    return _cast(np.array([300, -1, 7, 256], np.int32), TensorProto.UINT8)


def _cast_to_int32() -> Case:
    return _cast(np.array([2**33 + 5, -7, 2**31]), TensorProto.INT32)


def _allow_zero() -> Case:
    g = Graph("allow_zero", opset=14)
    x = g.input("x", np.zeros((0, 3), np.float32))
    g.node("Reshape", [x, g.ints("shape", 3, 0)], "a", allowzero=1)
    g.node("Cast", [g.node("Shape", ["a"], "s")], "f", to=TensorProto.FLOAT)
    g.node("Add", ["f", g.input("z", g.normal(2))], "y")
    g.output("y")
    return case(g, lambda feed: [np.array([3, 0], np.float32) + feed["z"]])


def _pad_one_axis() -> Case:
    g = Graph("pad_one_axis", opset=18)
    g.node("Pad", [g.input("x", g.normal(1, 3, 6, 6)), g.ints("pads", 1, 2), "", g.ints("axes", 3)], "a")
    g.node("Relu", ["a"], "y")
    g.output("y")
    return case(g, lambda feed: [np.pad(np.maximum(feed["x"], 0), ((0, 0), (0, 0), (0, 0), (1, 2)))])


def _scatter_add() -> Case:
    g = Graph("scatter_add", opset=16)
    places = g.const("i", [[1], [1]], np.int64)
    updates = g.normal(2, 3)
    g.node("ScatterND", [g.input("x", g.normal(4, 3)), places, g.const("u", updates)], "s", reduction="add")
    g.node("Relu", ["s"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = feed["x"].copy()
        made[1] += updates.sum(0)
        return [np.maximum(made, 0)]

    return case(g, right)


def _root_mean_square() -> Case:
    g = Graph("root_mean_square", opset=13)
    x, scale = g.input("x", g.normal(3, 8)), g.normal(8)
    g.node("ReduceMean", [g.node("Pow", [x, g.const("two", 2.0)], "q")], "v", axes=[-1])
    g.node("Sqrt", [g.node("Add", ["v", g.const("eps", 0.3)], "ve")], "sd")
    g.node("Mul", [x, g.node("Reciprocal", ["sd"], "r")], "n")
    g.node("Mul", ["n", g.const("scale", scale)], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"] / np.sqrt((feed["x"] ** 2).mean(-1, keepdims=True) + 0.3) * scale])


def _lp_pool() -> Case:
    g = Graph("lp_pool", opset=18)
    g.node("LpPool", [g.input("x", g.normal(1, 2, 6, 6))], "p", kernel_shape=[2, 2], strides=[2, 2], p=3)
    g.node("Relu", ["p"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        parts = np.abs(np.lib.stride_tricks.sliding_window_view(feed["x"], (2, 2), axis=(2, 3))[:, :, ::2, ::2])
        return [np.asarray((parts.astype(np.float64) ** 3).sum((4, 5)) ** (1 / 3), np.float32)]

    return case(g, right)


def _rows_of_weight() -> Case:
    g = Graph("rows_of_weight", opset=13)
    codes, scales = g.rng.integers(-127, 127, (6, 4)), np.array([0.01, 0.1, 1.0, 5.0], np.float32)
    weight = [g.const("codes", codes, np.int8), g.const("scales", scales), g.const("zeros", [0] * 4, np.int8)]
    g.node("DequantizeLinear", weight, "w", axis=1)
    g.node("Gather", ["w", g.input("x", np.array([1, 3, 5]))], "c", axis=0)
    g.node("Relu", ["c"], "y")
    g.output("y")
    return case(g, lambda feed: [np.maximum(codes[feed["x"]] * scales, 0).astype(np.float32)])


def _gather_nd_from_the_end() -> Case:
    g = Graph("gather_nd_from_the_end", opset=13)
    g.node("GatherND", [g.input("x", g.normal(3, 4)), g.const("i", [[0, -1], [2, 1]], np.int64)], "r")
    g.node("Relu", ["r"], "y")
    g.output("y")
    return case(g, lambda feed: [np.maximum(feed["x"][[0, 2], [3, 1]], 0)])


def _min_of_large() -> Case:
    g = Graph("min_of_large", opset=13)
    g.node("Min", [g.input("x", np.array([1, 2**40])), g.const("limits", [3, 5], np.int64)], "m")
    g.node("Cast", ["m"], "y", to=TensorProto.FLOAT)
    g.output("y")
    return case(g, lambda feed: [np.array([1, 5], np.float32)])


def _log_sum() -> Case:
    g = Graph("log_sum", opset=13)
    g.node("Abs", [g.input("x", g.normal(2, 3))], "a")
    g.node("ReduceLogSum", ["a"], "r", axes=[0])
    g.node("Add", ["r", g.const("one", [1.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.log(np.abs(feed["x"]).sum(0, keepdims=True)) + 1])


_AXES = "the axes, which are an input since opset 18, are not read: all are reduced"
#: The newest release, for those of which no earlier one was asked whether it is right.
_NEWEST = openvino("2026.4.1")
_OV: dict[str, Any] = {"backend": "openvino"}

OPENVINO = (
    Issue(
        "ReduceMean-18", "OpenVINO", "openvino#25169", _AXES,
        _reduce("ReduceMean", _mean), openvino("2024.1.0"), openvino("2024.6.0"), Answer(("r",)), **_OV,
    ),
    Issue(
        "ReduceL1-18", "OpenVINO", "openvino#20559", _AXES,
        _reduce("ReduceL1", _sum), openvino("2024.3.0"), openvino("2024.6.0"), Answer(("r",)), **_OV,
    ),
    Issue(
        "ReduceMax-18", "OpenVINO", "openvino#23148", _AXES,
        _reduce("ReduceMax", _max), openvino("2023.3.0"), openvino("2024.1.0"), Answer(("r",)), **_OV,
    ),
    Issue(
        "ReduceLogSumExp of large numbers", "OpenVINO", "openvino#32839", "infinity from 88.7 on",
        _log_sum_exp, openvino("2026.2.0"), openvino("2026.4.1"), Answer(("r",)), **_OV,
    ),
    Issue(
        "LpNormalization of zeros", "OpenVINO", "openvino 2026.2.0", "NaN where a row is zero",
        _lp_normalization, openvino("2025.3.0"), openvino("2026.2.0"), Answer(("n",)), **_OV,
    ),
    Issue(
        "OneHot with negative indices", "OpenVINO", "openvino 2026.0.0", "a negative index sets nothing",
        _one_hot, openvino("2025.3.0"), openvino("2026.0.0"), Answer(("h",)), **_OV,
    ),
    Issue(
        "Mul, ReduceSum, Add", "OpenVINO", "openvino#23616", "a sum of few terms and a bias become one kernel",
        sum_and_bias, openvino("2024.0.0"), _NEWEST, Answer(("s", "y")), **_OV,
    ),
    Issue(
        "Range of elements", "OpenVINO", "openvino#21178", "start, limit and step of one element each are refused",
        range_of_elements, openvino("2023.2.0"), _NEWEST, Answer(("y",)), **_OV,
    ),
    Issue(
        "Trilu by an element", "OpenVINO", "openvino#21172", "k of one element is refused",
        trilu, openvino("2023.2.0"), _NEWEST, Answer(("y",)), **_OV,
    ),
    Issue(
        "Relu with NaN", "OpenVINO", "openvino#21044", "NaN becomes 0", power_average, openvino("2023.2.0"), _NEWEST,
        Answer(("positive",), ("NaN",)), words=("--nan", "equal"), **_OV,
    ),
    Issue(
        "Shape from the end", "OpenVINO", "openvino#20976", "start is not read", shape_from_the_end,
        openvino("2023.2.0"), _NEWEST, Answer(("y",)), **_OV,
    ),
    Issue(
        "ReduceMean of integers", "OpenVINO", "openvino#20815", "the mean is rounded, not cut", mean_of_integers,
        openvino("2023.1.0"), _NEWEST, Answer(("y",)), **_OV,
    ),
    Issue(
        "ArgMin with ties", "OpenVINO", "openvino#13491", "a later one of equal elements is returned", arg_min,
        openvino("2023.2.0"), _NEWEST, Answer(("y",)), **_OV,
    ),
    Issue(
        "ReduceMin of what Concat joins", "OpenVINO", "openvino#33255", "both become Minimum, which joins nothing",
        _least_of_joined, openvino("2025.4.0"), openvino("2026.2.1"), Answer(("r", "k")), **_OV,
    ),
    Issue(
        "Cast of fractions to bool", "OpenVINO", "openvino 2024.6.0", "a half becomes False", _cast_to_bool,
        openvino("2024.1.0"), openvino("2024.6.0"), Answer(("c", "f")), **_OV,
    ),
    Issue(
        "Cast to uint8 beyond it", "OpenVINO", "openvino 2026.2.0", "300 becomes 255 in place of 44", _cast_to_uint8,
        openvino("2025.3.0"), openvino("2026.2.0"), Answer(("c", "f")), **_OV,
    ),
    Issue(
        "Cast to int32 beyond it", "OpenVINO", "openvino 2026.2.0", "the largest number takes the place of low bits",
        _cast_to_int32, openvino("2025.3.0"), openvino("2026.2.0"), Answer(("c", "f")), **_OV,
    ),
    Issue(
        "Reshape with allowzero, empty", "OpenVINO", "openvino 2026.4.1", "0 copies a dimension all the same",
        _allow_zero, openvino("2026.2.0"), _NEWEST, Answer(("a", "s")), **_OV,
    ),
    Issue(
        "Pad along one axis", "OpenVINO", "openvino 2026.2.0", "axes, an input since opset 18, are not read",
        _pad_one_axis, openvino("2025.3.0"), openvino("2026.2.0"), Answer(("a",)), **_OV,
    ),
    Issue(
        "ScatterND that adds", "OpenVINO", "openvino 2026.4.1", "reduction is refused", _scatter_add,
        openvino("2026.2.0"), _NEWEST, Answer(("s",)), **_OV,
    ),
    Issue(
        "Root mean square by hand", "OpenVINO", "openvino 2026.4.1", "the process dies of the operators together",
        _root_mean_square, openvino("2026.2.0"), _NEWEST, Answer(("q", "v", "ve", "sd", "r", "n", "y")), **_OV,
    ),
    Issue(
        "LpPool of order 3", "OpenVINO", "openvino 2026.4.1", "there is no such operator", _lp_pool,
        openvino("2026.2.0"), _NEWEST, Answer(("p",), ("has no operator",)), **_OV,
    ),
    Issue(
        "Rows of a weight with scales by column", "OpenVINO", "openvino 2024.1.0",
        "the scales are taken by row behind Gather", _rows_of_weight, _NEWEST, openvino("2023.2.0"),
        Answer(("w", "c", "y")), **_OV,
    ),
    Issue(
        "GatherND from the end", "OpenVINO", "openvino 2025.3.0", "negative indices are not counted from the end",
        _gather_nd_from_the_end,
        openvino("2024.6.0"), openvino("2025.3.0"), Answer(("r",)), **_OV,
    ),
    Issue(
        "Min of large integers", "OpenVINO", "openvino 2026.2.0", "int64 is cut to 32 bits", _min_of_large, _NEWEST,
        openvino("2025.3.0"), Answer(("m", "y")), **_OV,
    ),
    Issue(
        "Softsign of open dimensions", "OpenVINO", "openvino#31252",
        "the kernel of Mul, Softsign, Mul, Abs, Add for open dimensions computes something else", _softsign,
        openvino("2025.3.0"), _NEWEST, Answer(("m", "s", "t", "u", "y")),
        first="asked by a reviewer of tree 54b5e200: other numbers in each run, which was not so", **_OV,
    ),
    Issue(
        "ReduceLogSum of columns", "OpenVINO", "openvino 2026.4.1", "all axes are reduced", _log_sum, _NEWEST,
        openvino("2026.2.0"), Answer(("r",)), **_OV,
    ),
)  # fmt: skip
