"""Links of a graph: who makes a tensor, who reads it, what depends on what; bodies of operators included."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp_onnx.graph import GraphView, Use, rename, rename_reads

FLOAT, BOOL = TensorProto.FLOAT, TensorProto.BOOL


@pytest.fixture
def graph():
    """x -> Relu -> r; If(c) reads r and w within its branches, one of which has an r of its own; two -> Neg -> n."""
    value = helper.make_tensor_value_info("b", FLOAT, None)
    outer = helper.make_graph([helper.make_node("Mul", ["r", "w"], ["b"])], "then", [], [value])
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["r"], value_float=1.0), helper.make_node("Neg", ["r"], ["b"])],
        "else",
        [],
        [value],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32([2]))),
        helper.make_node("Neg", ["two"], ["n"]),
        helper.make_node("If", ["c"], ["y"], then_branch=outer, else_branch=inner),
        helper.make_node("Clip", ["r", "", "r"], ["z"]),
    ]
    values = [helper.make_tensor_value_info(name, BOOL if name == "c" else FLOAT, None) for name in "xcyz"]
    weights = [numpy_helper.from_array(np.float32([3]), "w")]
    return helper.make_graph(nodes, "graph", values[:2], values[2:], weights)


def test_links_tensors_and_nodes(graph):
    view = GraphView(graph)
    assert view.producer("r").op_type == "Relu"
    assert view.producer("x") is view.producer("w") is view.producer("nothing") is None
    assert view.uses["r"] == [Use(3, -1), Use(4, 0), Use(4, 2)], "a body reads it, and one operator twice"
    assert [node.op_type for node in view.consumers("r")] == ["If", "Clip"]
    assert view.consumers("y") == []
    assert set(view.reads[3]) == {"c", "r", "w"}, "what a body makes itself it does not take from around it"
    assert view.read_names == {"x", "two", "c", "r", "w", "y", "z"}
    assert view.static == {"w", "two", "n"}
    assert list(view.held) == ["two"]


def test_a_tensor_is_used_last_where_nothing_behind_reads_it(graph):
    last = GraphView(graph).last_uses
    assert {name: index for index, names in last.items() for name in names if name} == {
        "x": 0, "two": 2, "n": 2, "c": 3, "w": 3, "y": 3, "r": 4, "z": 4
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outputs", "border", "nodes", "needed"),
    [
        (["y"], (), [0, 3], {"y", "c", "r", "w", "x"}),
        (["y"], ("r",), [3], {"y", "c", "r", "w"}),
        (["z", "n"], (), [0, 1, 2, 4], {"z", "r", "x", "n", "two"}),
        (["w"], (), [], {"w"}),
    ],
)
def test_ancestors_go_through_bodies_up_to_a_border(graph, outputs, border, nodes, needed):
    assert GraphView(graph).ancestors(outputs, border) == (nodes, needed)


def test_origins_follow_what_passes(graph):
    origins = GraphView(graph).origins(["x", "two"], lambda node, place: node.op_type != "Clip" or place == 0)
    assert origins == {"x": ["x"], "r": ["x"], "z": ["x"], "two": ["two"], "n": ["two"]}


def test_other_names_reach_into_bodies_but_for_their_own(graph):
    branch, clip = graph.node[3], graph.node[4]
    rename_reads(clip, {"r": "other", "z": "never"})
    rename(branch, {"r": "other", "y": "made"})
    then, other = (item.g for item in sorted(branch.attribute, key=lambda item: item.name, reverse=True))
    assert (list(clip.input), list(clip.output), list(branch.output)) == (["other", "", "other"], ["z"], ["made"])
    assert list(then.node[0].input) == ["other", "w"]
    assert [list(node.input) for node in other.node] == [[], ["r"]]
