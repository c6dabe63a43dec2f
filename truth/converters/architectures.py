"""Small networks that converters are given, with random weights: those of the scenarios, and activations in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from truth.build import Graph, Net
from truth.models import sequences, transformers, vision


def _activations(kind: str) -> Net:
    """Convolutions with one kind of activation behind each, the last one at the end."""
    g = Graph(kind, seed=21)
    x = g.input("image", g.normal(2, 3, 12, 12))
    for place, (inner, outer) in enumerate(((3, 8), (8, 8), (8, 6))):
        y = g.conv(x, f"c{place}", inner, outer)
        name = f"a{place}"
        if kind == "clip":
            x = g.node("Clip", [y, g.const(f"{name}.low", -0.5), g.const(f"{name}.high", 0.75)], name)
        elif kind == "relu6":
            x = g.node("Clip", [y, g.const(f"{name}.low", 0), g.const(f"{name}.high", 6)], name)
        elif kind == "silu":
            x = g.node("Mul", [y, g.node("Sigmoid", [y], f"{name}.gate")], name)
        elif kind == "gelu":
            half = g.node(
                "Erf", [g.node("Mul", [y, g.const(f"{name}.root", 0.5**0.5)], f"{name}.small")], f"{name}.erf"
            )
            more = g.node("Add", [half, g.const(f"{name}.one", 1)], f"{name}.plus")
            x = g.node("Mul", [g.node("Mul", [y, more], f"{name}.twice"), g.const(f"{name}.half", 0.5)], name)
        else:
            x = g.node({"relu": "Relu", "tanh": "Tanh", "leaky": "LeakyRelu"}[kind], [y], name)
    g.output(x)
    return g.net()


def _relu_first() -> Net:
    """A Relu that nothing computes before, a convolution, a Relu."""
    g = Graph("relu first", seed=22)
    x = g.node("Relu", [g.input("image", g.normal(1, 4, 10, 10))], "first")
    g.node("Relu", [g.conv(x, "conv", 4, 6)], "last")
    g.output("last")
    return g.net()


def _dense() -> Net:
    """Products with sums and Relu behind them."""
    g = Graph("dense", seed=23)
    x = g.input("x", g.normal(8, 16))
    for place, (inner, outer) in enumerate(((16, 32), (32, 32), (32, 10))):
        x = g.node("Relu", [g.linear(x, f"l{place}", inner, outer)], f"r{place}")
    g.output(x)
    return g.net()


def _depthwise() -> Net:
    """Depthwise and pointwise convolutions with Relu, joined by a sum."""
    g = Graph("depthwise", seed=24)
    x = g.node("Relu", [g.conv(g.input("image", g.normal(1, 3, 12, 12)), "stem", 3, 8)], "stem.relu")
    for place in range(2):
        y = g.node("Relu", [g.conv(x, f"d{place}", 8, 8, group=8)], f"d{place}.relu")
        y = g.conv(y, f"p{place}", 8, 8, 1)
        x = g.node("Relu", [g.node("Add", [x, y], f"s{place}")], f"s{place}.relu")
    g.output(x)
    return g.net()


def _group_norm() -> Net:
    """Convolutions with a normalisation of groups of channels, written out as exporters do."""
    g = Graph("group norm", seed=25)
    x = g.conv(g.input("image", g.normal(1, 3, 12, 12)), "c0", 3, 8)
    flat = g.node("Reshape", [x, g.ints("groups", 0, 2, -1)], "flat")
    ones, zeros = g.const("ones", np.ones(2)), g.const("zeros", np.zeros(2))
    normal = g.node("InstanceNormalization", [flat, ones, zeros], "normal")
    back = g.node("Reshape", [normal, g.ints("back.shape", 1, 8, 12, 12)], "back")
    scaled = g.node("Mul", [back, g.const("scale", 1 + g.normal(8, 1, 1, scale=0.2))], "scaled")
    moved = g.node("Add", [scaled, g.const("bias", g.normal(8, 1, 1, scale=0.2))], "moved")
    g.conv(g.node("Relu", [moved], "relu"), "c1", 8, 4)
    g.output("c1")
    return g.net()


def _excited() -> Net:
    """A block that weighs its channels by what they hold as a whole."""
    g = Graph("squeeze", seed=26)
    x = g.node("Relu", [g.conv(g.input("image", g.normal(1, 3, 12, 12)), "c0", 3, 8)], "r0")
    small = g.node("Relu", [g.conv(g.node("GlobalAveragePool", [x], "mean"), "down", 8, 4, 1)], "down.relu")
    gate = g.node("Sigmoid", [g.conv(small, "up", 4, 8, 1)], "gate")
    g.conv(g.node("Mul", [x, gate], "gated"), "c1", 8, 4)
    g.output("c1")
    return g.net()


def _transposed() -> Net:
    """Up by a transposed convolution, a Relu, a convolution."""
    g = Graph("transposed", seed=27)
    x = g.node("Relu", [g.conv(g.input("image", g.normal(1, 3, 8, 8)), "c0", 3, 8)], "r0")
    up = g.node("ConvTranspose", [x, g.weight("up.w", 8, 8, 2, 2), g.weight("up.b", 8)], "up", strides=[2, 2])
    g.conv(g.node("Relu", [up], "up.relu"), "c1", 8, 3)
    g.output("c1")
    return g.net()


ARCHITECTURES: Mapping[str, Callable[[], Net]] = {
    **{kind: partial(_activations, kind) for kind in ("relu", "relu6", "clip", "silu", "gelu", "leaky", "tanh")},
    "relu first": _relu_first,
    "dense": _dense,
    "depthwise": _depthwise,
    "group norm": _group_norm,
    "squeeze": _excited,
    "transposed": _transposed,
    "resnet": vision.resnet,
    "mobilenet": vision.mobilenet,
    "unet": vision.unet,
    "super resolution": vision.super_resolution,
    "encoder": transformers.encoder,
    "vision transformer": transformers.vision_transformer,
    "lstm": sequences.lstm,
    "gru": sequences.gru,
    "speech": sequences.speech,
}
