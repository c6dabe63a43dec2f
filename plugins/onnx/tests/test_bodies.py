"""The graphs inside If, Loop and Scan as models of their own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from polycmp.graph import NestingGraph
from polycmp_onnx.model_graph import OnnxGraph

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def graph_of(node, **weights):
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph([node], "g", [value("x", FLOAT, [2, 3])], [value("y")], held)
    return OnnxGraph(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def entered(graph, **held):
    """Returns what is fed inside, and what comes out there."""
    found = graph.enter(graph.nodes[0], held)
    if found is None:
        return None
    onnx.checker.check_model(found[0].model)
    return found[1], ReferenceEvaluator(found[0].model).run(None, dict(found[1]))


def scan(**attributes):
    nodes = [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Mul", ["t", "k"], ["o"])]
    size = X.shape[1 - attributes.get("scan_input_axes", [0])[0]]
    body = helper.make_graph(
        nodes, "b", [value("s", FLOAT, [size]), value("e", FLOAT, [size])], [value("t"), value("o")]
    )
    node = helper.make_node("Scan", ["zero", "x"], ["last", "y"], body=body, num_scan_inputs=1, **attributes)
    return graph_of(node, zero=np.zeros(size, np.float32), k=np.float32(2))


@pytest.mark.parametrize(
    ("attributes", "first"),
    [
        ({}, X[0]),
        ({"scan_input_directions": [1]}, X[-1]),
        ({"scan_input_axes": [1]}, X[:, 0]),
        ({"scan_input_axes": [1], "scan_input_directions": [1]}, X[:, -1]),
    ],
)
def test_a_scan_begins_with_the_first_element_of_its_axis_and_direction(attributes, first):
    graph = scan(**attributes)
    assert isinstance(graph, NestingGraph)
    feed, outputs = entered(graph, x=X)
    np.testing.assert_array_equal(feed["e"], first)
    np.testing.assert_array_equal(outputs[1], 2 * first)


def loop(trips, going=True):
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Mul", ["v", "k"], ["w"])]
    inputs = [value("step", INT64, []), value("go", BOOL, []), value("v", FLOAT, [2, 3])]
    body = helper.make_graph(nodes, "b", inputs, [value("on", BOOL, []), value("w")])
    node = helper.make_node("Loop", ["n", "c", "x"], ["y"], body=body)
    return graph_of(node, n=np.array(trips), c=np.array(going), k=np.float32(3))


def test_a_loop_that_runs_begins_with_its_states():
    feed, outputs = entered(loop(5), x=X)
    np.testing.assert_array_equal(feed["v"], X)
    np.testing.assert_array_equal(outputs[1], 3 * X)


@pytest.mark.parametrize("graph", [loop(0), loop(5, going=False)], ids=["no trips", "no condition"])
def test_nothing_runs_inside_a_loop_without_iterations(graph):
    assert entered(graph, x=X) is None


def branches(condition):
    kinds = {"then_branch": ("Neg", "a"), "else_branch": ("Abs", "b")}
    graphs = {
        which: helper.make_graph([helper.make_node(op, ["x"], [made])], which, [], [value(made)])
        for which, (op, made) in kinds.items()
    }
    return helper.make_node("If", [condition], ["y"], **graphs)


@pytest.mark.parametrize(("condition", "expected"), [(True, -X), (False, np.abs(X))])
def test_the_branch_that_is_taken_is_entered(condition, expected):
    np.testing.assert_array_equal(entered(graph_of(branches("c"), c=np.array(condition)), x=X)[1][0], expected)
    np.testing.assert_array_equal(entered(graph_of(branches("c")), x=X, c=np.array(condition))[1][0], expected)


def test_a_condition_that_is_not_known_and_another_operator_have_nothing_inside():
    assert entered(graph_of(branches("c")), x=X) is None
    assert entered(graph_of(helper.make_node("Relu", ["x"], ["y"])), x=X) is None
