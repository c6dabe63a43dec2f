"""Tiny models for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def small_model(seed: int = 0, output: str = "y") -> onnx.ModelProto:
    """x [n,8] -> MatMul -> Relu -> Softmax."""
    weight = np.random.default_rng(seed).standard_normal((8, 8)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "W"], ["h"], name="mm"),
            helper.make_node("Relu", ["h"], ["r"], name="relu"),
            helper.make_node("Softmax", ["r"], [output], name="softmax"),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", 8])],
        [numpy_helper.from_array(weight, "W")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def unary_model(
    op: str, kind: int = TensorProto.FLOAT, result: int | None = None, **attributes: Any
) -> onnx.ModelProto:
    """x [4] -> one operator -> y [4]."""
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attributes)],
        op,
        [helper.make_tensor_value_info("x", kind, [4])],
        [helper.make_tensor_value_info("y", result or kind, [4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def graph_model(nodes: Any, inputs: Any, outputs: Any, weights: Any = (), opset: int = 17) -> onnx.ModelProto:
    """Any operators; inputs and outputs are (name, type, shape), weights (name, array)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def save_graph(path: Path, *parts: Any, **more: Any) -> Path:
    """Write the `graph_model` of some parts."""
    onnx.save(graph_model(*parts, **more), path)
    return path


def three_operators(path, *, middle="Sigmoid"):
    """Relu, an operator, Mul."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node(middle, ["r"], ["m"], name="middle"),
        helper.make_node("Mul", ["m", "two"], ["y"], name="twice"),
    ]
    return save_graph(
        path, nodes, [("x", TensorProto.FLOAT, [4, 8])], [("y", TensorProto.FLOAT, [4, 8])], [("two", np.float32(2))]
    )
