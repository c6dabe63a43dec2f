"""Small models whose figures look bad although nothing is wrong, and one that a real runtime gets wrong."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from truth.build import MICROSOFT, Graph, Net


def mask() -> Net:
    """Scores with the lowest number where padding is, and Softmax: the smallest piece of every encoder."""
    g = Graph("mask", seed=30)
    g.input("s", g.normal(2, 8), [2, 8])
    g.input("m", np.arange(8)[None] < np.array([[8], [5]]), [2, 8])
    g.node("Where", ["m", g.const("zero", 0), g.const("low", np.finfo(np.float32).min)], "bias")
    g.node("Softmax", [g.node("Add", ["s", "bias"], "t")], "p")
    g.output("p")
    return g.net()


def mask_twice() -> Net:
    """Two masks of the lowest number make -inf on both sides; the output hardly shows the scores."""
    g = Graph("mask_twice", seed=59)
    g.input("x", g.normal(2, 8), [2, 8])
    g.input("m", np.arange(8)[None] < np.array([[8], [5]]), [2, 8])
    g.node("Where", ["m", g.const("zero", 0), g.const("low", np.finfo(np.float32).min)], "bias")
    scores = g.node("Add", [g.norm("x", "scores", 8), "bias"], "once")
    g.node("Softmax", [g.node("Add", [scores, "bias"], "twice")], "p")
    g.node("Add", [g.node("Mul", ["p", g.const("little", 1e-3)], "share"), g.const("one", 1)], "y")
    g.output("y")
    return g.net()


def mask_lost() -> Net:
    """The lowest number, scaled up again: where it became infinite, something really is wrong behind it."""
    g = Graph("mask_lost", seed=31)
    g.input("s", g.normal(2, 8), [2, 8])
    g.node("Mul", ["s", g.const("large", 1e6)], "bias")
    g.node("Mul", ["bias", g.const("small", 1e-6)], "y")
    g.output("y")
    return g.net()


def saturated() -> Net:
    """A Sigmoid far in its tail: 0 against 1e-39."""
    g = Graph("saturated", seed=32)
    g.input("x", np.array([[-100.0, -95.0, -89.0, -110.0]], np.float32), [1, 4])
    g.node("Sigmoid", ["x"], "gate")
    g.node("Mul", ["gate", g.weight("w", 1, 4)], "gated")
    g.node("Add", ["gated", g.const("one", 1)], "y")
    g.output("y")
    return g.net()


def cancellation() -> Net:
    """(x / 3 + 1e7) - 1e7: in float32 nothing of x is left."""
    g = Graph("cancellation", seed=33)
    g.input("x", g.normal(64), [64])
    third = g.node("Div", ["x", g.const("three", 3)], "third")
    g.node("Sub", [g.node("Add", [third, g.const("big", 1e7)], "sum"), "big"], "y")
    g.output("y")
    return g.net()


def floor_tie() -> Net:
    """Whole numbers by way of a product that rounding takes to just below them; then a lookup by their floor."""
    g = Graph("floor_tie", seed=34)
    g.input("x", np.arange(1, 65, dtype=np.float32)[None] / np.float32(10), [1, 64])
    wide = g.node("MatMul", ["x", g.const("w", np.eye(64) * 10)], "steps")
    g.node("Floor", [wide], "floor")
    g.node("Div", ["floor", g.const("ten", 10)], "y")
    g.output("y")
    return g.net()


def distances() -> Net:
    """Biases by the distance of two positions as T5 has them: infinite logarithms on the diagonal, floors of ties."""
    g = Graph("distances", seed=62)
    x = g.input("x", g.normal(20, 16), [20, 16])
    g.input("places", np.arange(20), [20])
    rows, columns = (g.node("Unsqueeze", ["places", g.ints(f"axis{at}", at)], f"places.{at}") for at in (0, 1))
    apart = g.node("Abs", [g.node("Sub", [rows, columns], "between")], "apart")
    eighths = g.node("Div", [g.node("Cast", [apart], "real", to=TensorProto.FLOAT), g.const("eight", 8)], "eighths")
    share = g.node("Div", [g.node("Log", [eighths], "log"), g.const("log16", np.log(16))], "share")
    steps = g.node("Cast", [g.node("Mul", [share, "eight"], "far")], "steps", to=TensorProto.INT64)
    far = g.node("Add", [steps, g.ints("eight.whole", 8)], "far.whole")
    near = g.node("Less", [apart, "eight.whole"], "near")
    chosen = g.node("Where", [near, apart, far], "chosen")
    bias = g.node("Gather", [g.const("table", g.normal(16)), chosen], "bias")
    scores = g.node("MatMul", [g.linear(x, "h", 16, 16), g.const("keys", g.normal(16, 20, scale=0.25))], "scores")
    g.node("Softmax", [g.node("Add", [scores, bias], "biased")], "p", axis=-1)
    g.linear("p", "y", 20, 4)
    g.output("y")
    return g.net()


def nearest() -> Net:
    """The largest of values of which two are equal but for rounding, and what stands at its place."""
    g = Graph("nearest", seed=35)
    x = g.normal(4, 64)
    g.input("x", x, [4, 64])
    half = g.normal(64, 5)
    weights = np.concatenate([half, half[::-1] * 0 + half], axis=1)
    scores = g.node("MatMul", ["x", g.const("w", weights)], "scores")
    shifted = g.node("Mul", [scores, g.const("factors", np.r_[np.full(5, 1), np.full(5, 1 + 2**-23)])], "shifted")
    g.node("Softmax", [shifted], "p", axis=-1)
    g.node("ArgMax", ["p"], "best", axis=-1, keepdims=0)
    g.output("p")
    g.output("best", kind=TensorProto.INT64)
    return g.net()


def long_sum() -> Net:
    """Sums over 16,384 numbers of large magnitude that nearly cancel: each order of adding rounds differently."""
    g = Graph("long_sum", seed=36)
    g.input("x", g.normal(2, 16384, scale=1000), [2, 16384])
    g.node("MatMul", ["x", g.const("w", g.normal(16384, 4))], "product")
    g.node("Add", ["product", g.weight("b", 4)], "y")
    g.output("y")
    return g.net()


def large_values() -> Net:
    """Values of a million, off by a unit in the last place: 0.06 absolute."""
    g = Graph("large", seed=37)
    g.input("x", g.normal(4, 32, scale=1e5), [4, 32])
    for layer, source in enumerate(["x", "l0", "l1"]):
        g.linear(source, f"l{layer}", 32, 32)
    g.output("l2")
    return g.net()


def both_infinite() -> Net:
    """exp(100) is infinite on both sides, and its reciprocal 0."""
    g = Graph("both_infinite", seed=38)
    g.input("x", np.array([[100.0, 1.0, 95.0, -3.0]], np.float32), [1, 4])
    g.node("Reciprocal", [g.node("Exp", ["x"], "e")], "y")
    g.output("y")
    return g.net()


def not_a_number() -> Net:
    """NaN in the input, asked for and replaced."""
    g = Graph("not_a_number", seed=39)
    x = g.normal(4, 8)
    x[1, 3] = x[2, 5] = np.nan
    g.input("x", x, [4, 8])
    doubled = g.node("Add", ["x", "x"], "doubled")
    missing = g.node("IsNaN", [doubled], "missing")
    g.node("Where", [missing, g.const("mean", 0.5), doubled], "filled")
    g.linear("filled", "y", 8, 4)
    g.output("y")
    return g.net()


def steep() -> Net:
    """Sharp attention: scores of hundreds, whose roundings Softmax makes large."""
    g = Graph("steep", seed=40)
    g.input("x", g.normal(4, 64, scale=30), [4, 64])
    scores = g.node("MatMul", ["x", g.weight("w", 64, 16, scale=1)], "scores")
    g.node("Softmax", [scores], "p", axis=-1)
    g.node("MatMul", ["p", g.weight("v", 16, 8, scale=1)], "y")
    g.output("y")
    return g.net()


def tiny() -> Net:
    """Numbers near the smallest of float32."""
    g = Graph("tiny", seed=41)
    g.input("x", np.array([[1e-20, 3e-20, 1e-19, 2e-25]], np.float32), [1, 4])
    g.node("Mul", ["x", g.const("small", 1e-20)], "denormal")
    g.node("Add", ["denormal", g.const("one", 1)], "y")
    g.output("y")
    return g.net()


def pad_pool() -> Net:
    """Zeros around negative numbers, then a maximum.

    ONNX Runtime before 1.32 folds the padding into the pooling, which pads with the lowest number instead of 0.
    """
    g = Graph("pad_pool", seed=42, opset=13)
    g.input("x", -np.abs(g.normal(1, 1, 3, 3)) - 1, [1, 1, 3, 3])
    padded = g.node("Pad", ["x", g.ints("pads", 0, 0, 1, 1, 0, 0, 1, 1)], "padded")
    g.node("MaxPool", [padded], "pooled", kernel_shape=[2, 2], strides=[1, 1])
    g.node("Mul", ["pooled", g.const("two", 2)], "y")
    g.output("y")
    return g.net()


def rounding(ties: bool = True) -> Net:
    """Values at halves, rounded to even.

    Args:
        ties: Whether there are halves.
    """
    g = Graph("rounding", seed=43)
    g.input("x", (np.arange(32, dtype=np.float32) + (0.5 if ties else 0.25))[None], [1, 32])
    g.node("Round", ["x"], "rounded")
    g.linear("rounded", "y", 32, 4)
    g.output("y")
    return g.net()


def overflowing() -> Net:
    """exp(12 x + 3) and a mean of it: too large for float16, harmless in float32; the mean is wrong behind it."""
    g = Graph("overflow", seed=44)
    g.input("x", g.rng.random((2, 8)).astype(np.float32), [2, 8])
    g.node("Exp", [g.node("Mul", ["x", g.const("twelve", 14)], "shifted")], "e")
    g.node("ReduceMean", ["e"], "y", axes=[1])
    g.output("y")
    return g.net()


def counted() -> Net:
    """How many different numbers there are decides an output's shape."""
    g = Graph("counted", seed=50)
    g.input("x", g.normal(6, 8), [6, 8])
    size = g.node("Abs", [g.linear("x", "h", 8, 8)], "size")
    rounded = g.node("Round", [g.node("Mul", [size, g.const("four", 4)], "wide")], "rounded")
    g.node("Unique", [g.node("Clip", [rounded, g.const("low", 0), g.const("high", 9)], "kept")], "different")
    g.output("different")
    return g.net()


def remainder() -> Net:
    """A number modulo itself: where a fault makes 0 of it, NaN comes out of an operator that is right."""
    g = Graph("remainder", seed=51)
    g.input("x", np.abs(g.normal(4, 8)) + 0.25, [4, 8])
    g.node("Mul", ["x", g.const("small", 0.2)], "part")
    g.node("Add", [g.node("Mod", ["part", "part"], "rest", fmod=1), "x"], "y")
    g.output("y")
    return g.net()


def two_outputs() -> Net:
    """One output passes through float16, which some backends leave out; the other is of float64."""
    g = Graph("two_outputs", seed=52)
    x = g.input("x", g.normal(4, 8), [4, 8])
    half = g.node("Cast", [x], "half", to=TensorProto.FLOAT16)
    sine = g.node(
        "Sin", [g.node("Cast", [g.node("Mul", [half, half], "square")], "back", to=TensorProto.FLOAT)], "sine"
    )
    wide = g.node("Cast", [x], "wide", to=TensorProto.DOUBLE)
    g.node("Cast", [g.node("Mul", [wide, wide], "product")], "y", to=TensorProto.FLOAT)
    g.output(sine, "y")
    return g.net()


def chaotic() -> Net:
    """A logistic map, 26 times: every unit of rounding grows into a tenth of what the output varies by."""
    g = Graph("chaotic", seed=54)
    x = g.input("x", g.rng.uniform(0.1, 0.9, 400).astype(np.float32), [400])
    one, rate = g.const("one", 1), g.const("rate", 3.9)
    for step in range(26):
        product = g.node("Mul", [x, g.node("Sub", [one, x], f"rest{step}")], f"product{step}")
        x = g.node("Mul", [product, rate], f"x{step}")
    g.output(x)
    return g.net()


def running_mean() -> Net:
    """A normalisation in training mode whose bias is its mean, too: ONNX Runtime 1.31 writes the one over the other."""
    g = Graph("running_mean", seed=53)
    x = g.input("x", g.normal(2, 3, 4, 5), [2, 3, 4, 5])
    both = g.node("Mul", [g.input("m", g.normal(3), [3]), g.const("two", 2)], "both")
    reads = [x, g.weight("scale", 3), both, both, g.const("variance", [1, 1, 1])]
    g.node("BatchNormalization", reads, ["normal", "mean", "spread"], training_mode=1)
    g.node("Relu", ["normal"], "y")
    g.node("Sigmoid", ["mean"], "gate")
    g.output("y", "gate")
    return g.net()


def kept_digits() -> Net:
    """Sums in float16 whose rounding makes values equal; ONNX Runtime keeps the digits, so more of them differ.

    One output is as wrong as another shape, although each operator rounds as its type does.
    """
    g = Graph("kept_digits", seed=55)
    x = g.input("x", (1 + 1e-4 * np.arange(96)).astype(np.float32), [96])
    half = g.node("Cast", [g.node("Cosh", [x], "wide")], "half", to=TensorProto.FLOAT16)
    back = g.node("Cast", [g.node("Add", [half, half], "sum")], "back", to=TensorProto.FLOAT)
    g.node("Unique", [back], ["values", "", "", "counts"])
    g.node("Relu", [g.linear(g.node("Reshape", [x, g.ints("rows", 6, 16)], "table"), "h", 16, 8)], "y")
    g.output("values", "y")
    g.output("counts", kind=TensorProto.INT64)
    return g.net()


def lacking() -> Net:
    """An operator that the reference evaluator does not know, among others."""
    g = Graph("lacking", seed=54)
    x = g.input("x", g.normal(2, 16), [2, 16])
    square = g.node("Reshape", [g.linear(x, "h", 16, 16), g.ints("shape", 2, 4, 4)], "square")
    turned = g.node("Inverse", [square], "inverse", domain=MICROSOFT)
    g.node("Relu", [g.linear(turned, "z", 4, 8)], "y")
    g.output("y")
    return g.net()
