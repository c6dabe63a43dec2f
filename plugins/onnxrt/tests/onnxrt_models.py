"""Small models for the tests of ONNX Runtime, and what the core hands to a runner's factory."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

FLOAT = TensorProto.FLOAT


def value(name, kind=FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, opset=21, **graph):
    made = helper.make_graph(nodes, "graph", inputs, outputs, **graph)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("some.domain", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=10)


def double():
    return model([helper.make_node("Add", ["x", "x"], ["y"], name="add")], [value("x")], [value("y")])


class FakeModel:
    """What the core hands to a runner's factory."""

    def __init__(self, made):
        self.made, self.path, self.kind = made, None, "onnx"

    def load(self, kind):
        assert kind == "onnx"
        return lambda: self.made


def identity(kind, shape=("n",)):
    """Return a model that gives back its input."""
    node = helper.make_node("Identity", ["x"], ["y"])
    return model([node], [value("x", kind, shape)], [value("y", kind, shape)])


def infer(made, **feed):
    """Run a model once; return its outputs as arrays of their own."""
    with OnnxrtRunner(SessionFromOnnx(made)) as runner:
        return {name: np.array(array) for name, array in runner.infer(feed).items()}
