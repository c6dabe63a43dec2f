"""Two models for the examples: y = x, with fixed and with dynamic shapes."""

from pathlib import Path

import onnx
from onnx import TensorProto, helper


def save_identity(path, shape, names=("x", "y")):
    """Write an identity model, unless it is there already, and return its path."""
    if not Path(path).exists():
        source, target = names
        graph = helper.make_graph(
            [helper.make_node("Identity", [source], [target])],
            "identity",
            [helper.make_tensor_value_info(source, TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(target, TensorProto.FLOAT, shape)],
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def identity():
    return save_identity("identity.onnx", [1, 1, 2, 2])


def dynamic_identity():
    return save_identity("dynamic_identity.onnx", ["n", 3, 28, 28], ("X", "Y"))
