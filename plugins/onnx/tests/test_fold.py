"""What does not depend on inputs becomes a constant."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_results import FLOAT, function_model, ran, run_in_ort
from surgeon_models import checked, model_of, same, value, weight

from polycmp_onnx import (
    fold_constants,
)


def test_folding_leaves_only_what_depends_on_inputs(mlp, feed):
    folded = fold_constants(mlp)
    assert [node.op_type for node in folded.graph.node if node.op_type != "Constant"] == [
        "MatMul",
        "Relu",
        "Mul",
        "Add",
    ]
    np.testing.assert_allclose(run_in_ort(folded, feed)["y"], run_in_ort(mlp, feed)["y"], rtol=1e-5)
    onnx.checker.check_model(folded, full_check=True)


def test_folding_spares_quantisation_randomness_and_large_results(make_model):
    weights = {
        "q": np.ones((4,), np.int8), "scale": np.array(0.5, np.float32), "big": np.array([1000], np.int64),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale"], ["w"]),
        helper.make_node("RandomNormal", [], ["r"], shape=[4]),
        helper.make_node("ConstantOfShape", ["big"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["z"], keepdims=0),
        helper.make_node("Sum", ["x", "w", "r", "z"], ["y"]),
    ]
    model = make_model(nodes, [("x", 1, [4])], [("y", 1, [4])], weights)
    kinds = [node.op_type for node in fold_constants(model, size_threshold=100).graph.node]
    assert kinds == ["DequantizeLinear", "RandomNormal", "ConstantOfShape", "ReduceSum", "Sum"]
    kinds = [node.op_type for node in fold_constants(model).graph.node]
    assert kinds == ["DequantizeLinear", "RandomNormal", "Sum"]


def test_a_function_with_the_name_of_an_operator_is_not_folded_as_that(polycmp):
    body = [helper.make_node("Shape", ["p"], ["s"]), helper.make_node("Add", ["s", "s"], ["q"])]
    nodes = [
        helper.make_node("Shape", ["x"], ["size"], domain="my"),
        helper.make_node("Cast", ["size"], ["f"], to=FLOAT),
        helper.make_node("ReduceSum", ["f"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    onnx.save(function_model("Shape", body, nodes), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    np.testing.assert_array_equal(ran("out.onnx", {"x": np.ones((2, 3), np.float32)})[0], np.full((2, 3), 10))


def test_random_numbers_drawn_in_a_function_stay_random(polycmp):
    body = [helper.make_node("RandomNormalLike", ["p"], ["q"])]
    nodes = [helper.make_node("Noise", ["w"], ["n"], domain="my"), helper.make_node("Add", ["x", "n"], ["y"])]
    model = function_model("Noise", body, nodes, [("w", np.ones((2, 3), np.float32))])
    onnx.save(model, "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Noise", "Add"]


def test_folding_looks_into_branches_and_keeps_their_weights(polycmp, tmp_path):
    def branch(name, op):
        nodes = [
            helper.make_node(op, ["a", "b"], [f"{name}_c"]),
            helper.make_node("Mul", ["x", f"{name}_c"], [f"{name}_y"]),
        ]
        weights = [weight("b", np.full(3, 2, np.float32))]
        return helper.make_graph(nodes, name, [], [value(f"{name}_y", [3])], weights)

    node = helper.make_node("If", ["flag"], ["y"], then_branch=branch("yes", "Add"), else_branch=branch("no", "Sub"))
    source = model_of([node], [value("x", [3]), value("flag", [], TensorProto.BOOL)], [value("y", [3])],
                      [weight("a", np.ones(3, np.float32))])  # fmt: skip
    onnx.save(source, tmp_path / "model.onnx")
    assert polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx").status == 0
    made = checked(tmp_path / "out.onnx")
    inside = [inner.op_type for attribute in made.graph.node[0].attribute for inner in attribute.g.node]
    assert inside == ["Mul", "Mul"]
    for flag in (True, False):
        same(source, made, {"x": np.ones(3, np.float32), "flag": np.array(flag)})
