"""Models that commands of `polycmp surgeon` change, and whether what they write computes the same."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

F = TensorProto.FLOAT
X = {"x": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)}


def value(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model_of(nodes, inputs, outputs, weights=(), **kwargs):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    made = helper.make_model(
        graph,
        ir_version=10,
        opset_imports=kwargs.get("opsets", [helper.make_opsetid("", 20), helper.make_opsetid("com.mine", 3)]),
        functions=kwargs.get("functions", []),
    )
    made.metadata_props.add(key="author", value="somebody")
    return made


@pytest.fixture
def chain(tmp_path):
    """x -> Shape/Gather/Concat/Reshape that folds, a MatMul with a doubled weight, and a dead node."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Add", ["w", "w"], ["w2"], "double"),
        helper.make_node("Shape", ["x"], ["s"], "shape"),
        helper.make_node("Gather", ["s", "one"], ["d"], "gather"),
        helper.make_node("MatMul", ["x", "w2"], ["m"], "matmul"),
        helper.make_node("Relu", ["m"], ["r"], "relu"),
        helper.make_node("Concat", ["minus", "d"], ["t"], "concat", axis=0),
        helper.make_node("Reshape", ["r", "t"], ["y"], "reshape"),
        helper.make_node("Neg", ["m"], ["unused"], "dead"),
    ]
    weights = [
        weight("w", random.standard_normal((8, 8)).astype(np.float32)),
        weight("one", np.array([1])),
        weight("minus", np.array([-1])),
        weight("nobody", np.ones(3, np.float32)),
    ]
    made = model_of(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], weights)
    onnx.save(made, tmp_path / "model.onnx")
    return made


def same(first, second, feed):
    for one, other in zip(
        ReferenceEvaluator(first).run(None, feed), ReferenceEvaluator(second).run(None, feed), strict=True
    ):
        np.testing.assert_allclose(other, one, atol=1e-6)


def checked(path):
    onnx.checker.check_model(str(path))
    return onnx.load(path)
