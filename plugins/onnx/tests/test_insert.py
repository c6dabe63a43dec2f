"""`surgeon insert`: an operator in place of what lies between tensors, or beside it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from surgeon_models import X, checked, weight


def test_insert_replaces_what_lies_between(polycmp, chain, tmp_path):
    words = ("--op", "Sigmoid", "--inputs", "x", "--outputs", "r", "--name", "new")
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    kinds = [node.op_type for node in made.graph.node]
    assert "Sigmoid" in kinds
    assert not {"MatMul", "Relu", "Neg"} & set(kinds)
    got = ReferenceEvaluator(made).run(None, X)[0]
    np.testing.assert_allclose(got, 1 / (1 + np.exp(-X["x"])), atol=1e-6)


@pytest.mark.parametrize(("tensor", "expected"), [("x", lambda x, f: f(x / 2)), ("y", lambda x, f: f(x) / 2)])
def test_insert_behind_an_input_and_before_an_output(polycmp, chain, tmp_path, tensor, expected):
    weights = [weight("two", np.float32(2))]
    chain.graph.initializer.extend(weights)
    onnx.save(chain, tmp_path / "model.onnx")
    words = ("--op", "Div", "--inputs", tensor, "two", "--outputs", tensor)
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    assert [item.name for item in made.graph.output] == ["y"]
    original = ReferenceEvaluator(chain)
    wanted = expected(X["x"], lambda x: original.run(None, {"x": x})[0])
    np.testing.assert_allclose(ReferenceEvaluator(made).run(None, X)[0], wanted, atol=1e-6)


def test_insert_puts_the_node_right_behind_what_it_reads(polycmp, tmp_path):
    nodes = [
        helper.make_node("Neg", ["x"], ["h"], "first"),
        helper.make_node("Relu", ["h"], ["y"], "one"),
        helper.make_node("Abs", ["h"], ["z"], "other"),
    ]
    values = [[helper.make_tensor_value_info(name, 1, [2]) for name in side] for side in ("x", "yz")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *values)), tmp_path / "model.onnx")
    words = ("--op", "Sin", "--inputs", "h", "--outputs", "z")
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    assert [node.op_type for node in checked(tmp_path / "out.onnx").graph.node] == ["Neg", "Sin", "Relu"]


def test_insert_finds_shapes_by_running_the_model_where_that_is_asked_for(polycmp, chain, tmp_path):
    words = ("--op", "Sigmoid", "--inputs", "r", "--outputs", "r", "--force-fallback-shape-inference")
    assert polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    inside = {name for node in made.graph.node for name in node.output} - {item.name for item in made.graph.output}
    noted = {item.name: item.type.tensor_type.shape.dim for item in made.graph.value_info}
    assert inside <= noted.keys()
    assert all(dim.dim_value > 0 for dims in noted.values() for dim in dims)
