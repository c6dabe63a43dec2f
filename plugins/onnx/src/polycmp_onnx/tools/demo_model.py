"""The models of `polycmp demo`: a small residual convolutional network with fixed weights, and one with a fault."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (16, 32, 64)
CLASSES = 10
#: The weight that differs in the model with a fault, and by how much its first value does.
FAULTY, OFF = "stage1.a.weight", 0.5


class Builder:
    """Collects the nodes and weights of a graph."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, shape: tuple[int, ...], scale: float, offset: float = 0.0) -> str:
        """Add a weight of random values and return its name."""
        values = self.rng.standard_normal(shape) * scale + offset
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add a node named after its output and return that name."""
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def conv(self, source: str, name: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        """Convolution and batch normalization."""
        inner, outer = channels
        shape = (outer, inner, kernel, kernel)
        weight = self.weight(f"{name}.weight", shape, (2.0 / (inner * kernel * kernel)) ** 0.5)
        pad = kernel // 2
        self.node("Conv", [source, weight], f"{name}.conv", pads=[pad] * 4, strides=[stride] * 2)
        norm = [
            self.weight(f"{name}.scale", (outer,), 0.1, 1.0),
            self.weight(f"{name}.bias", (outer,), 0.1),
            self.weight(f"{name}.mean", (outer,), 0.1),
            self.weight(f"{name}.var", (outer,), 0.05, 1.0),
        ]
        return self.node("BatchNormalization", [f"{name}.conv", *norm], f"{name}.norm")

    def block(self, source: str, name: str, channels: tuple[int, int], stride: int) -> str:
        """Two convolutions beside a shortcut."""
        first = self.node("Relu", [self.conv(source, f"{name}.a", channels, 3, stride)], f"{name}.a.relu")
        second = self.conv(first, f"{name}.b", (channels[1], channels[1]), 3)
        shortcut = self.conv(source, f"{name}.skip", channels, 1, stride)
        return self.node("Relu", [self.node("Add", [second, shortcut], f"{name}.add")], f"{name}.relu")


def make_model(seed: int = 0) -> onnx.ModelProto:
    """Return the network: images [n,3,32,32] to probabilities [n,10]."""
    build = Builder(seed)
    current = build.node("Relu", [build.conv("image", "stem", (3, CHANNELS[0]), 3)], "stem.relu")
    for index, (inner, outer) in enumerate(zip((CHANNELS[0], *CHANNELS), CHANNELS)):  # noqa: B905 - one shorter
        current = build.block(current, f"stage{index}", (inner, outer), 1 if index == 0 else 2)
    pooled = build.node("GlobalAveragePool", [current], "pool")
    flat = build.node("Flatten", [pooled], "flat")
    weight = build.weight("head.weight", (CHANNELS[-1], CLASSES), 0.2)
    logits = build.node("Gemm", [flat, weight, build.weight("head.bias", (CLASSES,), 0.1)], "logits")
    build.node("Softmax", [logits], "probabilities", axis=-1)
    graph = helper.make_graph(
        build.nodes,
        "demo",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 32, 32])],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", CLASSES]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", CLASSES]),
        ],
        build.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def with_fault(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the network with one value of one weight changed, as a faulty conversion leaves it."""
    faulty = deepcopy(model)
    weight = next(item for item in faulty.graph.initializer if item.name == FAULTY)
    values = np.array(numpy_helper.to_array(weight))
    values.flat[0] += OFF
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return faulty
