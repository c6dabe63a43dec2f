"""A model as plain values: every kind of attribute and weight, and no more numbers than can be read."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp_onnx.tools.model_json import SHOWN, document


@pytest.fixture
def found():
    """A model with a function, an inner graph, and an attribute of each kind, as values that JSON has."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    inner = helper.make_graph(
        [helper.make_node("Add", ["x", "held"], ["b"])], "then", [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(4, np.float32), "held")],
    )  # fmt: skip
    scaled = helper.make_node("Elu", ["a"], ["c"])
    scaled.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="factor", type=onnx.AttributeProto.FLOAT))
    function = helper.make_function(
        "mine", "Scaled", ["a"], ["c"], [scaled], [helper.make_opsetid("", 17)], attributes=["factor"]
    )
    nodes = [
        helper.make_node("If", ["flag"], ["h"], then_branch=inner, else_branch=inner),
        helper.make_node(
            "Scaled", ["h"], ["y"], "call", domain="mine", factor=0.5, count=3, text="why", several=[1, 2],
            words=["a", "b"], long=list(range(100)), tensor=numpy_helper.from_array(np.arange(100), "t"),
        ),
    ]  # fmt: skip
    weights = [
        numpy_helper.from_array(np.array(True), "flag"),
        numpy_helper.from_array(np.arange(100, dtype=np.int8), "many"),
        helper.make_tensor("texts", TensorProto.STRING, [1], [b"cat"]),
        numpy_helper.from_array(np.float32([np.inf, 0.5]), "reals"),
    ]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8, producer_name="me")
    return lambda *show: json.loads(json.dumps(document(model, show, {"h": {"max": 2.0}})))


def test_a_model_is_told_with_its_inputs_outputs_and_origin(found):
    shown = found()
    assert (shown["schema"], shown["producer"]["name"], shown["opsets"]) == (1, "me", {"ai.onnx": 17, "mine": 1})
    assert shown["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["n", 4]}]
    assert shown["tensor_info"] == {"h": {"max": 2.0}}
    assert shown["functions"][0] == {
        "name": "Scaled", "domain": "mine", "inputs": ["a"], "outputs": ["c"], "attributes": ["factor"],
        "nodes": [{"name": "", "op": "Elu", "domain": "", "inputs": ["a"], "outputs": ["c"],
                   "attributes": {"alpha": {"ref": "factor"}}}],
    }  # fmt: skip


def test_each_kind_of_attribute_is_a_plain_value(found):
    attributes = found()["nodes"][1]["attributes"]
    assert {name: attributes[name] for name in ("factor", "count", "text", "several", "words")} == {
        "factor": 0.5, "count": 3, "text": "why", "several": [1, 2], "words": ["a", "b"],
    }  # fmt: skip
    assert attributes["long"] == attributes["tensor"]["values"] == list(range(SHOWN))
    assert attributes["tensor"]["shape"] == [100]


def test_inner_graphs_are_told_with_their_nodes_and_weights(found):
    node = found("weights")["nodes"][0]
    assert node["attributes"]["then_branch"] == {"graph": "then"}
    inner = node["subgraphs"]["then"]
    assert inner["outputs"] == [{"name": "b", "dtype": "float32", "shape": None}]
    assert (inner["nodes"][0]["op"], inner["initializers"][0]["values"]) == ("Add", [1.0] * 4)


def test_values_of_weights_are_told_where_they_are_asked_for(found):
    assert all("values" not in item for item in found()["initializers"])
    values = {item["name"]: item["values"] for item in found("weights")["initializers"]}
    assert values["many"] == list(range(SHOWN))
    assert (values["flag"], values["texts"], values["reals"][1]) == ([1], ["cat"], 0.5)
