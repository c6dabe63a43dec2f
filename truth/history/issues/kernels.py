"""Operators that ONNX Runtime calculated wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
from onnx import TensorProto

from truth.build import Array, Graph
from truth.history.issue import Answer, Case, Issue, case, onnxruntime

_WHERE = "ONNX Runtime: kernels"


def _min_nan() -> Case:
    g = Graph("min_nan", opset=17)
    x = g.input("x", np.array([[1.5], [np.nan], [20.0], [-3.0]], np.float32))
    g.node("Min", [g.node("Add", [x, g.const("one", [[1.0]])], "a"), g.const("bound", [10.0])], "m")
    g.node("Mul", ["m", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [2 * np.minimum(feed["x"] + 1, np.float32(10))])


def _reduce_max_nan() -> Case:
    g = Graph("reduce_max_nan", opset=13)
    x = np.array([[np.nan, np.nan, np.nan, 42.0], [1.0, 2.0, 3.0, 4.0]], np.float32)
    g.node("Mul", [g.input("x", x), g.const("one", [1.0])], "a")
    g.node("ReduceMax", ["a"], "m", axes=[1], keepdims=0)
    g.node("Add", ["m", g.const("half", [0.5])], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"].max(1) + np.float32(0.5)])


def _bit_shift() -> Case:
    g = Graph("bit_shift", opset=13)
    x = g.input("x", np.array([1000, 255, 1, 42], np.uint64))
    n = g.input("n", np.array([64, 64, 3, 64], np.uint64))
    g.node("BitShift", [x, n], "s", direction="RIGHT")
    g.node("Cast", ["s"], "f", to=TensorProto.FLOAT)
    g.node("Mul", ["f", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.array([0, 0, 0, 0], np.float32)])


def _average(x: Array, kernel: tuple[int, int], pads: tuple[int, int, int, int]) -> Array:
    """Return means over windows with zeros around, all counted."""
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))
    return np.asarray(windows.mean((-1, -2), dtype=np.float64), np.float32)


def _average_pool_end_pads() -> Case:
    g = Graph("average_pool", opset=19)
    x = g.input("x", np.arange(12, dtype=np.float32).reshape(1, 1, 6, 2))
    g.node("Mul", [x, g.const("two", [2.0])], "a")
    g.node("AveragePool", ["a"], "p", kernel_shape=[5, 1], auto_pad="SAME_LOWER", count_include_pad=1)
    g.node("Add", ["p", g.const("one", [1.0])], "y")
    g.output("y")
    return case(g, lambda feed: [_average(2 * feed["x"], (5, 1), (2, 0, 2, 0)) + 1])


def _average_pool_ceil() -> Case:
    """Windows that reach beyond the padding count what is inside of it (opset 7 to 18)."""
    g = Graph("average_pool_ceil", opset=18)
    x = g.input("x", g.normal(1, 2, 6, 6))
    g.node("Relu", [x], "a")
    g.node(
        "AveragePool",
        ["a"],
        "p",
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[0, 0, 0, 0],
        ceil_mode=1,
        count_include_pad=1,
    )
    g.node("Add", ["p", g.const("one", [1.0])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        x = np.maximum(feed["x"], 0)
        out = np.zeros((1, 2, 3, 3), np.float32)
        for i, j in product(range(3), range(3)):
            out[:, :, i, j] = x[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].mean((2, 3))
        return [out + 1]

    return case(g, right)


def _reduce_empty(op: str, neutral: float) -> Callable[[], Case]:
    def make() -> Case:
        g = Graph("reduce_empty", opset=18)
        x = g.input("x", np.zeros((2, 0, 4), np.float32), ["n", "k", 4])
        g.node(op, [x, g.ints("axes", 1)], "r", keepdims=1)
        g.node("Add", ["r", g.const("one", [1.0])], "y")
        g.output("y")
        return case(g, lambda feed: [np.full((2, 1, 4), neutral + 1, np.float32)])

    return make


def _clip_without_max() -> Case:
    g = Graph("clip", opset=13)
    x = g.input("x", np.array([[-3, 0, 5, 900]], np.int32))
    g.node("Clip", [x, g.const("least", 1, np.int32)], "c")
    g.node("Cast", ["c"], "f", to=TensorProto.FLOAT)
    g.node("Div", [g.const("one", [1.0]), "f"], "y")
    g.output("y")
    return case(g, lambda feed: [np.float32(1) / np.maximum(feed["x"], 1).astype(np.float32)])


def attention_softcap() -> Case:
    """Return attention with a cap and a mask that hides two positions."""
    g = Graph("attention", opset=23)
    q, k, v = (g.input(name, g.normal(1, 2, 4, 8)) for name in "qkv")
    mask = np.zeros((4, 4), np.float32)
    mask[:, 2:] = -np.inf
    g.node("Attention", [q, k, v, g.input("mask", mask)], "a", softcap=2.0)
    g.node("Add", ["a", g.const("one", [1.0])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        q, k, v = (feed[name].astype(np.float64) for name in "qkv")
        scores = 2 * np.tanh(q @ k.transpose(0, 1, 3, 2) / np.sqrt(8) / 2) + feed["mask"]
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return [np.asarray(weights / weights.sum(-1, keepdims=True) @ v + 1, np.float32)]

    return case(g, right)


def _causal_query() -> Case:
    """Return attention of one query to four positions, of which it sees the first alone, as there is no past."""
    g = Graph("causal_query", opset=23)
    names = [g.input("q", g.normal(1, 2, 1, 8)), *(g.input(name, g.normal(1, 2, 4, 8)) for name in "kv")]
    g.node("Attention", names, "a", is_causal=1)
    g.node("Mul", ["a", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [2 * feed["v"][:, :, :1]])


def _erf_nan() -> Case:
    g = Graph("erf_nan")
    x = g.input("x", np.array([np.nan, 0.5, -0.5, np.nan, 2, -1, 0, 3], np.float32))
    g.node("Add", [g.node("Erf", [x], "e"), g.const("one", [1.0])], "y")
    g.output("y")
    return case(g, lambda feed: [np.array([math.erf(value) + 1 for value in feed["x"]], np.float32)])


def _one_hot_of_nothing() -> Case:
    g = Graph("one_hot_of_nothing")
    x = g.input("x", np.zeros(0, np.int64), ["n"])
    hot = g.node("OneHot", [x, g.ints("depth", 3), g.const("values", [0, 1])], "h")
    rows = g.node("MatMul", [hot, g.weight("w", 3, 2)], "m")
    g.node("Concat", [rows, g.input("more", g.normal(2, 2))], "y", axis=0)
    g.output("y")
    return case(g, lambda feed: [feed["more"]])


def _quantize_float16() -> Case:
    g = Graph("quantize_float16", opset=19)
    x = g.input("x", np.array([0.12, 0.13, 0.17, 0.99, -0.14, -0.23], np.float16))
    steps = [g.const("scale", 0.05, np.float16), g.const("zero", 0, np.int8)]
    g.node("QuantizeLinear", [x, *steps], "q")
    g.node("DequantizeLinear", ["q", *steps], "d")
    g.node("Cast", ["d"], "y", to=TensorProto.FLOAT)
    g.output("y")
    scale = np.float32(np.float16(0.05))
    return case(g, lambda feed: [np.rint(feed["x"].astype(np.float32) / scale) * scale])


KERNELS = (
    Issue(
        "Min with NaN",
        _WHERE,
        "onnxruntime#21455",
        "Min drops a NaN where the other input has one element",
        _min_nan,
        onnxruntime("1.18.1"),
        onnxruntime("1.20.1"),
        Answer(("m",)),
        words=("--nan", "equal"),
    ),
    Issue(
        "ReduceMax with NaN",
        _WHERE,
        "onnxruntime#10514",
        "ReduceMax drops NaN, depending on how many there are",
        _reduce_max_nan,
        onnxruntime("1.15.1"),
        onnxruntime("1.16.3"),
        Answer(("m",)),
        words=("--nan", "equal"),
    ),
    Issue(
        "BitShift by 64",
        _WHERE,
        "onnxruntime#28262",
        "shifting a 64-bit number by 64 returns the number instead of 0",
        _bit_shift,
        onnxruntime("1.23.2"),
        onnxruntime("1.27.0"),
        Answer(("s",)),
    ),
    Issue(
        "AveragePool-19, padding at the end",
        _WHERE,
        "onnxruntime#24681",
        "with count_include_pad the padding at the end is not counted",
        _average_pool_end_pads,
        onnxruntime("1.23.2"),
        onnxruntime("1.25.1"),
        Answer(("p",)),
    ),
    Issue(
        "AveragePool, ceil_mode",
        _WHERE,
        "onnxruntime#29629",
        "windows that reach beyond the padding are divided by the whole kernel",
        _average_pool_ceil,
        onnxruntime("1.23.2"),
        onnxruntime("1.30.0"),
        Answer(("p",)),
    ),
    Issue(
        "ReduceSum of nothing",
        _WHERE,
        "onnxruntime#8146",
        "the reduced dimension stays 0 instead of 1",
        _reduce_empty("ReduceSum", 0.0),
        onnxruntime("1.16.3"),
        onnxruntime("1.17.3"),
        Answer(("r",)),
    ),
    Issue(
        "ReduceProd of nothing",
        _WHERE,
        "onnxruntime#7563",
        "the reduced dimension stays 0 instead of 1",
        _reduce_empty("ReduceProd", 1.0),
        onnxruntime("1.16.3"),
        onnxruntime("1.17.3"),
        Answer(("r",)),
    ),
    Issue(
        "Attention with softcap and a mask",
        _WHERE,
        "onnxruntime#28379",
        "the cap is applied after the mask, so masked positions get weight",
        attention_softcap,
        onnxruntime("1.23.2"),
        onnxruntime("1.27.0"),
        Answer(("a",)),
    ),
    Issue(
        "Attention of one query, causal",
        _WHERE,
        "onnxruntime#29020",
        "one query without a past sees all positions, not the first alone",
        _causal_query,
        onnxruntime("1.25.1"),
        onnxruntime("1.30.0"),
        Answer(("a",)),
    ),
    Issue(
        "Erf of NaN",
        _WHERE,
        "onnxruntime#28462",
        "NaN becomes 1",
        _erf_nan,
        onnxruntime("1.23.2"),
        onnxruntime("1.32.0"),
        Answer(("e",)),
        words=("--nan", "equal"),
    ),
    Issue(
        "OneHot of nothing",
        _WHERE,
        "onnxruntime#20659",
        "a division by the 0 dimensions ends the process",
        _one_hot_of_nothing,
        onnxruntime("1.23.2"),
        onnxruntime("1.32.0"),
        Answer(("h",)),
    ),
    Issue(
        "QuantizeLinear of float16",
        _WHERE,
        "onnxruntime#18576",
        "what is between two steps is cut off in place of rounded",
        _quantize_float16,
        onnxruntime("1.29.0"),
        onnxruntime("1.30.0"),
        Answer(("q",)),
        tolerance=1e-3,
    ),
)
