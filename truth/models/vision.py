"""Convolutional networks: residual, depthwise, U-shaped, detection, super-resolution."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from truth.build import Graph, Net


def resnet(seed: int = 4) -> Net:
    """Residual blocks with batch normalisation kept apart."""
    g = Graph("resnet", seed)
    x = g.input("image", g.normal(2, 3, 16, 16), ["batch", 3, 16, 16])
    x = g.node("Relu", [g.batch_norm(g.conv(x, "stem", 3, 8), "stem.bn", 8)], "stem.relu")
    x = g.node("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for name, inner, outer, stride in (("s0", 8, 8, 1), ("s1", 8, 16, 2), ("s2", 16, 16, 1)):
        y = g.conv(x, f"{name}.c1", inner, outer, strides=[stride, stride])
        y = g.node("Relu", [g.batch_norm(y, f"{name}.bn1", outer)], f"{name}.r1")
        y = g.batch_norm(g.conv(y, f"{name}.c2", outer, outer), f"{name}.bn2", outer)
        short = x if inner == outer else g.conv(x, f"{name}.short", inner, outer, 1, strides=[stride, stride])
        x = g.node("Relu", [g.node("Add", [y, short], f"{name}.add")], f"{name}.r2")
    flat = g.node("Flatten", [g.node("GlobalAveragePool", [x], "mean")], "flat")
    g.node("Gemm", [flat, g.weight("fc.w", 16, 10), g.weight("fc.b", 10)], "logits")
    g.node("Softmax", ["logits"], "probabilities", axis=-1)
    g.output("logits", "probabilities")
    return g.net()


def mobilenet() -> Net:
    """Depthwise convolutions, hard swish, squeeze and excitation."""
    g = Graph("mobilenet", seed=5)
    x = g.input("image", g.normal(1, 3, 16, 16), ["batch", 3, 16, 16])
    x = g.node("HardSwish", [g.conv(x, "stem", 3, 8, strides=[2, 2])], "stem.act")
    for name, stride in (("b0", 1), ("b1", 2), ("b2", 1)):
        wide = g.node(
            "Clip",
            [g.conv(x, f"{name}.up", 8, 24, 1), g.const(f"{name}.0", 0), g.const(f"{name}.6", 6)],
            f"{name}.relu6",
        )
        deep = g.conv(wide, f"{name}.depth", 24, 24, 3, group=24, strides=[stride, stride])
        deep = g.node("HardSwish", [deep], f"{name}.act")
        squeezed = g.node("GlobalAveragePool", [deep], f"{name}.squeeze")
        small = g.node("Relu", [g.conv(squeezed, f"{name}.se1", 24, 6, 1)], f"{name}.se.relu")
        gate = g.node("HardSigmoid", [g.conv(small, f"{name}.se2", 6, 24, 1)], f"{name}.gate", alpha=1 / 6)
        y = g.conv(g.node("Mul", [deep, gate], f"{name}.gated"), f"{name}.down", 24, 8, 1)
        x = g.node("Add", [x, y], f"{name}.add") if stride == 1 else y
    flat = g.node("ReduceMean", [x], "flat", axes=[2, 3], keepdims=0)
    g.linear(flat, "logits", 8, 10)
    g.output("logits")
    return g.net()


def unet() -> Net:
    """Down by pooling, up by resizing and by transposed convolution, joined across."""
    g = Graph("unet", seed=6)
    x = g.input("image", g.normal(1, 1, 16, 16), ["batch", 1, "height", "width"])
    one = g.node("LeakyRelu", [g.conv(x, "d0", 1, 8)], "d0.act", alpha=0.1)
    two = g.node("LeakyRelu", [g.conv(one, "d1", 8, 16, strides=[2, 2])], "d1.act", alpha=0.1)
    low = g.node("MaxPool", [two], "d2.pool", kernel_shape=[2, 2], strides=[2, 2])
    low = g.node(
        "InstanceNormalization",
        [g.conv(low, "d2", 16, 16), g.const("in.s", np.ones(16)), g.weight("in.b", 16)],
        "d2.norm",
    )
    up = g.node("ConvTranspose", [low, g.weight("u1.w", 16, 16, 2, 2), g.weight("u1.b", 16)], "u1", strides=[2, 2])
    joined = g.node("Concat", [up, two], "u1.join", axis=1)
    y = g.node("Relu", [g.conv(joined, "u1.conv", 32, 8)], "u1.act")
    big = g.node(
        "Resize",
        [y, "", g.const("scales", [1, 1, 2, 2])],
        "u0",
        mode="linear",
        coordinate_transformation_mode="half_pixel",
    )
    y = g.node("Relu", [g.conv(g.node("Concat", [big, one], "u0.join", axis=1), "u0.conv", 16, 8)], "u0.act")
    g.node("Sigmoid", [g.conv(y, "head", 8, 2, 1)], "mask")
    g.output("mask")
    return g.net()


def detector() -> Net:
    """A detection head: boxes and scores, the best few, suppression of overlaps."""
    g = Graph("detector", seed=7)
    x = g.input("image", g.normal(1, 3, 16, 16), [1, 3, 16, 16])
    x = g.node("Relu", [g.conv(x, "c1", 3, 8, strides=[2, 2])], "r1")
    x = g.node("Relu", [g.conv(x, "c2", 8, 16, strides=[2, 2])], "r2")
    places = {}
    for part, count in (("box", 4), ("score", 2)):
        row = g.node(
            "Reshape", [g.conv(x, f"{part}.conv", 16, count, 1), g.ints(f"{part}.shape", 1, count, 16)], f"{part}.row"
        )
        places[part] = row
    scores = g.node("Sigmoid", [places["score"]], "scores")
    boxes = g.node("Transpose", [places["box"]], "box.last", perm=[0, 2, 1])
    half = g.ints("half", 2)
    g.node("Split", [boxes], ["centre", "extent"], axis=2)
    middle = g.node("Add", [g.node("Tanh", ["centre"], "centre.tanh"), g.weight("grid", 1, 16, 2, scale=4)], "middle")
    size = g.node("Exp", ["extent"], "size")
    away = g.node("Div", [size, g.const("two", 2)], "away")
    corners = [g.node("Sub", [middle, away], "low"), g.node("Add", [middle, away], "high")]
    g.node("Concat", corners, "boxes", axis=2)
    limits = [g.ints("most", 5), g.const("overlap", [0.4]), g.const("least", [0.2])]
    g.node("NonMaxSuppression", ["boxes", scores, *limits], "selected")
    best = g.node("ReduceMax", [scores], "best", axes=[1], keepdims=0)
    g.node("TopK", [best, g.ints("three", 3)], ["top", "which"], axis=1)
    flat = g.node("Squeeze", ["which", g.ints("zeroth", 0)], "which.flat")
    g.node("Gather", ["boxes", flat], "top.boxes", axis=1)
    del half
    g.weights = [weight for weight in g.weights if weight.name != "half"]
    g.output("boxes", "scores", "top", "top.boxes")
    g.output("selected", kind=TensorProto.INT64)
    return g.net()


def super_resolution() -> Net:
    """Convolutions and depth to space: every output pixel depends on a few inputs only."""
    g = Graph("super", seed=8)
    x = g.input("image", g.normal(1, 1, 8, 8), ["batch", 1, "h", "w"])
    y = g.node("PRelu", [g.conv(x, "c1", 1, 16, 5), g.const("slope", np.full((16, 1, 1), 0.2))], "c1.act")
    y = g.node("Tanh", [g.conv(y, "c2", 16, 16)], "c2.act")
    y = g.node("DepthToSpace", [g.conv(y, "c3", 16, 8)], "shuffled", blocksize=2, mode="CRD")
    up = g.node("Resize", [x, "", g.const("scales", [1, 1, 2, 2])], "big", mode="nearest")
    g.node("Clip", [g.node("Add", [y, up], "sum"), g.const("low", -3), g.const("high", 3)], "y")
    g.output("y")
    return g.net()
