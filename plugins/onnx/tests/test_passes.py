"""The contract of what changes a model: what it requires, what it ensures, and an honest word on whether it changed."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.errors import ModelError
from polycmp_onnx import FoldConstants, clean_up, sort_nodes
from polycmp_onnx.extract import extract_part
from polycmp_onnx.fold import fold
from polycmp_onnx.graph import part_weights_from_inputs
from polycmp_onnx.insert import insert_node
from polycmp_onnx.passes import CLEAN, SORTED, WEIGHTS_APART
from polycmp_onnx.shapes import note_shapes
from polycmp_onnx.tidy import override_input_shapes
from polycmp_onnx.upper_bound import bound

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL
PASSES = {
    "clean_up": (clean_up, ()),
    "sort_nodes": (sort_nodes, ()),
    "note_shapes": (note_shapes, ()),
    "override_input_shapes": (override_input_shapes, ({"x": [2, 3]},)),
    "fold": (fold, (FoldConstants(None, do_shape_inference=False),)),
    "fold with shapes": (fold, (FoldConstants(None),)),
    "extract_part": (extract_part, (["x"], ["h"])),
    "extract_part of all": (extract_part, ()),
    "insert_node": (insert_node, ("Abs", ["h"], ["h"])),
    "bound": (bound, ({"": 5},)),
}


def _model(kind):
    """Return a model x -> Relu -> h -> Mul by w -> y, with what a kind adds to it."""
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Mul", ["h", "w"], ["y"])]
    inputs, weights = [helper.make_tensor_value_info("x", FLOAT, [2, 3])], {"w": np.float32([2])}
    if kind in {"dead parts", "dead weight that is an input"}:
        nodes.append(helper.make_node("Neg", ["unread"], ["dead"]))
        weights["unread"] = np.float32([1])
    if kind == "constants":
        nodes[1:1] = [helper.make_node("Neg", ["v"], ["w"])]
        weights = {"v": np.float32([-2])}
    if kind == "not in order":
        nodes.reverse()
    if kind in {"bodies", "bodies with dead parts"}:
        value = helper.make_tensor_value_info("b", FLOAT, None)
        branches = [helper.make_graph([helper.make_node(op, ["h"], ["b"])], op, [], [value]) for op in ("Abs", "Neg")]
        if kind == "bodies with dead parts":
            branches[0].node.append(helper.make_node("Exp", ["h"], ["dead"]))
        nodes[1:] = [
            helper.make_node("If", ["c"], ["i"], then_branch=branches[0], else_branch=branches[1]),
            helper.make_node("Mul", ["i", "w"], ["y"]),
        ]
        inputs.append(helper.make_tensor_value_info("c", BOOL, []))
    graph = helper.make_graph(
        nodes,
        "graph",
        inputs,
        [helper.make_tensor_value_info("y", FLOAT, [2, 3])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    if kind in {"weights among the inputs", "dead weight that is an input"}:
        graph.input.extend(helper.make_tensor_value_info(name, FLOAT, [1]) for name in weights)
    if kind == "shapes":
        graph.value_info.append(helper.make_tensor_value_info("h", FLOAT, [2, 3]))
    version = 3 if kind == "weights among the inputs" else 8
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=version)


KINDS = (
    "plain", "dead parts", "constants", "not in order", "bodies", "bodies with dead parts", "weights among the inputs",
    "dead weight that is an input", "shapes",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_keeps_its_contract(name, kind):
    made, arguments = PASSES[name]
    model = _model(kind)
    for condition in made.requires:
        if not condition.holds(model):
            with pytest.raises(ModelError, match="takes a model none of whose weights is an input"):
                made(model, *arguments)
            assert part_weights_from_inputs(model)
    before = model.SerializeToString(deterministic=True)
    modified = made(model, *arguments)
    assert modified is (model.SerializeToString(deterministic=True) != before)
    for condition in made.ensures:
        assert condition.holds(model), condition.text


@pytest.mark.parametrize("name", [name for name in PASSES if name != "insert_node"])
def test_a_pass_has_nothing_to_change_twice(name):
    made, arguments = PASSES[name]
    model = _model("constants")
    made(model, *arguments)
    assert not made(model, *arguments)


@pytest.mark.parametrize(
    ("condition", "kinds"),
    [
        (CLEAN, {"dead parts", "bodies with dead parts", "dead weight that is an input"}),
        (SORTED, {"not in order"}),
        (WEIGHTS_APART, {"weights among the inputs", "dead weight that is an input"}),
    ],
)
def test_a_condition_tells_models_apart(condition, kinds):
    assert {kind for kind in KINDS if not condition.holds(_model(kind))} == kinds


def test_what_fills_an_input_stays():
    model = _model("dead weight that is an input")
    assert clean_up(model)
    assert [node.op_type for node in model.graph.node] == ["Relu", "Mul"]
    assert {item.name for item in model.graph.initializer} == {"w", "unread"}, "else a caller would have to feed it"
    onnx.checker.check_model(model)
