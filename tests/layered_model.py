"""A model whose operators have the names of modules, as exporters of PyTorch write them."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT


def layered(scale=2.0):
    """x -> two layers of module names; the second one's scale is what a wrong export has another of."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "W0"], ["proj"], name="/layer.0/dense/MatMul"),
        helper.make_node("Relu", ["proj"], ["act"], name="/layer.0/act/Relu"),
        helper.make_node("MatMul", ["act", "W1"], ["mixed"], name="/layer.1/dense/MatMul"),
        helper.make_node("Mul", ["mixed", "scale"], ["scaled"], name="/layer.1/scale/Mul"),
        helper.make_node("Add", ["scaled", "x"], ["y"], name="/layer.1/Add"),
    ]
    weights = [("W0", random.standard_normal((8, 8)).astype("f")), ("W1", random.standard_normal((8, 8)).astype("f"))]
    weights.append(("scale", np.array([scale], "f")))
    return graph_model(nodes, [("x", FLOAT, ["n", 8])], [("y", FLOAT, ["n", 8])], weights)
