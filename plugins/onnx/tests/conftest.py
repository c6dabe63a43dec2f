"""Small real models, and a command line in the tests' process."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_commands import model, other, polycmp, signals_as_a_terminal_has_them
from surgeon_models import chain

__all__ = ["chain", "model", "other", "polycmp", "signals_as_a_terminal_has_them"]


def _make_model(nodes, inputs, outputs, weights=(), opset=17, **domains):
    """Return a checked model: inputs and outputs as (name, type, shape), weights as {name: array}."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info(*value) for value in outputs],
        [numpy_helper.from_array(array, name) for name, array in dict(weights).items()],
    )
    imports = [
        helper.make_opsetid("", opset),
        *(helper.make_opsetid(name, version) for name, version in domains.items()),
    ]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    if not domains and all(value[2] is not None for value in (*inputs, *outputs)):
        onnx.checker.check_model(model)
    return model


def _one_node(op_type, arrays, outputs=1, opset=17, out_type=TensorProto.FLOAT, **attributes):
    """Return a model of one node whose inputs have the types and shapes of the arrays."""
    names = [f"i{index}" for index in range(len(arrays))]
    made = [f"o{index}" for index in range(outputs)]
    node = helper.make_node(op_type, names, made, name="the_node", **attributes)
    inputs = [
        (name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    return _make_model([node], inputs, [(name, out_type, None) for name in made], opset=opset)


@pytest.fixture
def mlp():
    """x -> MatMul w -> h -> Relu -> r -> Mul (number of elements of w, computed in the graph) -> y."""
    weight = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Constant", [], ["one"], value_float=1.0),
        helper.make_node("Shape", ["w"], ["s"]),
        helper.make_node("Cast", ["s"], ["sf"], to=TensorProto.FLOAT),
        helper.make_node("ReduceProd", ["sf"], ["t"], keepdims=0),
        helper.make_node("Mul", ["r", "t"], ["m"]),
        helper.make_node("Add", ["m", "one"], ["y"]),
    ]
    floats = TensorProto.FLOAT
    return _make_model(nodes, [("x", floats, ["n", 8])], [("y", floats, ["n", 4])], {"w": weight})


@pytest.fixture
def mlp_file(mlp, tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp, str(path))
    return str(path)


@pytest.fixture
def lint(polycmp, tmp_path):
    """Have `polycmp check lint` look at model.onnx; returns what was said and the report."""

    def run(*words):
        done = polycmp("check", "lint", "model.onnx", "-o", "report.json", *words)
        return done, json.loads((tmp_path / "report.json").read_text())

    return run


@pytest.fixture
def feed():
    return {"x": np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)}


@pytest.fixture
def make_model():
    return _make_model


@pytest.fixture
def one_node():
    return _one_node
