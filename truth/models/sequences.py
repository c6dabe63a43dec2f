"""Models of signals and sequences: speech, recurrent networks, bodies of Loop, If and Scan, graphs, functions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from truth.build import Graph, Net


def speech() -> Net:
    """Short-time Fourier transform, power, mel bands, logarithm, convolution, classes."""
    g = Graph("speech", seed=9)
    time = np.arange(256) / 64
    tone = np.sin(2 * np.pi * 9 * time) + 0.5 * np.sin(2 * np.pi * 3 * time) + 0.05 * g.rng.standard_normal(256)
    x = g.input("signal", tone[None].astype(np.float32), [1, 256])
    column = g.node("Unsqueeze", [x, g.ints("last", 2)], "column")
    window = g.const("window", np.hanning(32))
    spectrum = g.node(
        "STFT", [column, g.const("step", 16, np.int64), window, g.const("length", 32, np.int64)], "spectrum"
    )
    square = g.node("Mul", [spectrum, spectrum], "square")
    power = g.node("ReduceSum", [square, g.ints("parts", -1)], "power", keepdims=0)
    mel = g.node("MatMul", [power, g.const("bands", np.abs(g.normal(17, 8)))], "mel")
    log = g.node("Log", [g.node("Add", [mel, g.const("eps", 1e-6)], "mel.eps")], "log")
    turned = g.node("Transpose", [log], "turned", perm=[0, 2, 1])
    weight = g.weight("conv.w", 16, 8, 3)
    y = g.node("Relu", [g.node("Conv", [turned, weight, g.weight("conv.b", 16)], "conv", pads=[1, 1])], "relu")
    pooled = g.node("ReduceMax", [y], "pooled", axes=[2], keepdims=0)
    g.node("LogSoftmax", [g.linear(pooled, "classes", 16, 4)], "scores", axis=-1)
    g.output("log", "scores")
    return g.net()


def recurrent(kind: str) -> Net:
    """Two recurrent layers, the first in both directions, and a head."""
    g = Graph(kind, seed=10)
    gates = {"LSTM": 4, "GRU": 3}[kind]
    x = g.input("x", g.normal(6, 2, 8), ["length", "batch", 8])
    for name, both, inner in (("r0", 2, 8), ("r1", 1, 16)):
        hidden = 8
        weights = [
            g.const(f"{name}.w", g.normal(both, gates * hidden, inner, scale=inner**-0.5)),
            g.const(f"{name}.r", g.normal(both, gates * hidden, hidden, scale=hidden**-0.5)),
            g.const(f"{name}.b", g.normal(both, 2 * gates * hidden, scale=0.1)),
        ]
        direction = "bidirectional" if both == 2 else "forward"
        g.node(kind, [x, *weights], [f"{name}.all", f"{name}.last"], hidden_size=hidden, direction=direction)
        order = g.node("Transpose", [f"{name}.all"], f"{name}.order", perm=[0, 2, 1, 3])
        x = g.node("Reshape", [order, g.ints(f"{name}.shape", 0, 0, -1)], f"{name}.flat")
    g.node("Tanh", [g.linear(x, "head", 8, 4)], "y")
    g.output("y", "r1.last")
    return g.net()


def lstm() -> Net:
    """Long short-term memory."""
    return recurrent("LSTM")


def gru() -> Net:
    """Gated recurrent units."""
    return recurrent("GRU")


def _loop_body(g: Graph) -> onnx.GraphProto:
    inner = Graph("body")
    inner.node("MatMul", ["h", "loop.w"], "body.matmul")
    inner.node("Tanh", ["body.matmul"], "body.h")
    inner.node("Identity", ["keep"], "body.keep")
    inner.node("Identity", ["body.h"], "body.row")
    reads = [
        helper.make_tensor_value_info("step", TensorProto.INT64, []),
        helper.make_tensor_value_info("keep", TensorProto.BOOL, []),
        helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, 8]),
    ]
    makes = [helper.make_tensor_value_info("body.keep", TensorProto.BOOL, [])]
    makes += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in ("body.h", "body.row")]
    del g
    return helper.make_graph(inner.nodes, "body", reads, makes)


def bodies(weight: float = 0.0) -> Net:
    """A Loop, an If and a Scan, each with operators inside.

    Args:
        weight: What is added to one weight that only the Loop's body reads.
    """
    g = Graph("bodies", seed=11)
    x = g.input("x", g.normal(2, 8), [2, 8])
    values = g.normal(8, 8, scale=0.4)
    values[3, 4] += np.float32(weight)
    g.const("loop.w", values)
    start = g.linear(x, "first", 8, 8)
    trips, yes = g.const("trips", 3, np.int64), g.const("yes", True, np.bool_)
    g.node("Loop", [trips, yes, start], ["looped", "rows"], body=_loop_body(g))
    positive = g.node(
        "Greater", [g.node("ReduceSum", ["looped"], "total", keepdims=0), g.const("nought", -100)], "positive"
    )
    branches = {}
    for name, op in (("then", "Sigmoid"), ("else", "Neg")):
        inner = Graph(name)
        inner.node(op, ["looped"], f"{name}.made")
        value = helper.make_tensor_value_info(f"{name}.made", TensorProto.FLOAT, [2, 8])
        branches[f"{name}_branch"] = helper.make_graph(inner.nodes, name, [], [value])
    g.node("If", [positive], "chosen", **branches)
    inner = Graph("scan")
    inner.node("Add", ["sum_in", "row_in"], "sum_out")
    inner.node("Mul", ["sum_out", "sum_out"], "scan.square")
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8])
        for name in ("sum_in", "row_in", "sum_out", "scan.square")
    ]
    body = helper.make_graph(inner.nodes, "scan", infos[:2], infos[2:])
    g.node("Scan", ["chosen", "rows"], ["sum", "squares"], body=body, num_scan_inputs=1)
    g.node("ReduceMean", ["squares"], "squares.mean", axes=[0], keepdims=0)
    g.linear("squares.mean", "last", 8, 4)
    g.linear("sum", "other", 8, 4)
    g.output("last", "other")
    return g.net()


def graph_network() -> Net:
    """Messages along edges: gathered, transformed, added up by ScatterElements."""
    g = Graph("graph", seed=12)
    x = g.input("nodes", g.normal(6, 8), [6, 8])
    edges = g.input("edges", np.array([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]], np.int64), [2, 8])
    for layer in range(2):
        name = f"g{layer}"
        source = g.node("Gather", [edges, g.const(f"{name}.from", 0, np.int64)], f"{name}.source", axis=0)
        target = g.node("Gather", [edges, g.const(f"{name}.to", 1, np.int64)], f"{name}.target", axis=0)
        message = g.node(
            "Relu", [g.linear(g.node("Gather", [x, source], f"{name}.read"), f"{name}.message", 8, 8)], f"{name}.relu"
        )
        column = g.node("Unsqueeze", [target, g.ints(f"{name}.axis", 1)], f"{name}.column")
        index = g.node("Expand", [column, g.ints(f"{name}.shape", 8, 8)], f"{name}.index")
        zeros = g.const(f"{name}.zeros", np.zeros((6, 8)))
        summed = g.node("ScatterElements", [zeros, index, message], f"{name}.summed", axis=0, reduction="add")
        x = g.node("Elu", [g.node("Add", [g.linear(x, f"{name}.self", 8, 8), summed], f"{name}.add")], f"{name}.out")
    g.node("ReduceLogSumExp", [x], "readout", axes=[0], keepdims=0)
    g.output("readout")
    return g.net()


def diffusion() -> Net:
    """A step of a diffusion model: embedding of the time, group normalisation by hand, cumulative sum, convolution."""
    g = Graph("diffusion", seed=13)
    x = g.input("noisy", g.normal(1, 8, 8, 8), [1, 8, 8, 8])
    t = g.input("time", np.array([[0.3]], np.float32), [1, 1])
    angle = g.node("Mul", [t, g.const("speeds", 2.0 ** np.arange(4)[None])], "angle")
    wave = g.node("Concat", [g.node("Sin", [angle], "sin"), g.node("Cos", [angle], "cos")], "wave", axis=1)
    embedded = g.node("Softplus", [g.linear(wave, "time.linear", 8, 8)], "time.act")
    column = g.node("Reshape", [embedded, g.ints("column.shape", 1, 8, 1, 1)], "column")
    groups = g.node("Reshape", [x, g.ints("groups.shape", 1, 2, -1)], "groups")
    normal = g.node(
        "InstanceNormalization", [groups, g.const("gn.s", np.ones(2)), g.const("gn.b", np.zeros(2))], "groups.norm"
    )
    y = g.node("Reshape", [normal, g.ints("back.shape", 1, 8, 8, 8)], "normed")
    y = g.node("Add", [g.node("Mul", [y, column], "modulated"), column], "shifted")
    y = g.node("Mul", [y, g.node("Sigmoid", [y], "swish.gate")], "swish")
    y = g.conv(y, "conv", 8, 8)
    g.node("Sub", [x, y], "cleaner")
    g.node("CumSum", ["cleaner", g.const("axis", 3, np.int64)], "summed")
    g.output("cleaner", "summed")
    return g.net()


def functions(scale: float = 1.0) -> Net:
    """A model whose activation is a function of its own.

    Args:
        scale: What the function's constant is multiplied by.
    """
    g = Graph("functions", seed=14)
    body = [
        helper.make_node("Constant", [], ["k"], value=helper.make_tensor("k", TensorProto.FLOAT, [], [1.702 * scale])),
        helper.make_node("Mul", ["a", "k"], ["m"]),
        helper.make_node("Sigmoid", ["m"], ["s"]),
        helper.make_node("Mul", ["a", "s"], ["r"]),
    ]
    g.functions.append(helper.make_function("own", "QuickGelu", ["a"], ["r"], body, [helper.make_opsetid("", 17)]))
    x = g.input("x", g.normal(4, 16), [4, 16])
    for layer in range(3):
        x = g.node("QuickGelu", [g.linear(x, f"f{layer}", 16, 16)], f"f{layer}.act", domain="own")
    g.linear(x, "y", 16, 4)
    g.output("y")
    return g.net()


def recommender() -> Net:
    """Embedding tables, their sum, products of pairs, dense layers: wide and deep."""
    g = Graph("recommender", seed=15)
    ids = g.input("ids", g.rng.integers(0, 50, (4, 6)), ["batch", 6])
    numbers = g.input("numbers", np.abs(g.normal(4, 3, scale=30)), ["batch", 3])
    vectors = g.node("Gather", [g.weight("table", 50, 8, scale=0.5), ids], "vectors")
    turned = g.node("Transpose", [vectors], "turned", perm=[0, 2, 1])
    pairs = g.node("Flatten", [g.node("MatMul", [vectors, turned], "pairs")], "pairs.flat")
    summed = g.node("ReduceSum", [vectors, g.ints("middle", 1)], "bag", keepdims=0)
    logs = g.node("Log", [g.node("Add", [numbers, g.const("one", 1)], "plus")], "logs")
    x = g.node("Concat", [pairs, summed, logs], "features", axis=1)
    x = g.node("Selu", [g.linear(x, "d0", 47, 16)], "d0.act")
    g.node("Sigmoid", [g.linear(x, "d1", 16, 1)], "click")
    g.output("click")
    return g.net()
