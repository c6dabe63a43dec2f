"""The search for the smallest part that fails, on graphs and faults that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.reduce.parts import PartCutter
from polycmp_locate.reduce.search import ReduceOptions, Reducer


class Graph:
    """A graph of operators, each given by what it reads and the tensor that it makes; the last one is the output."""

    def __init__(self, *nodes):
        pairs = [(tuple(reads.split()), made) for reads, made in nodes]
        self.nodes = [GraphNode("Op", made, inputs=reads, outputs=(made,)) for reads, made in pairs]
        self.inputs, self.outputs, self.weights, self.opaque = {"x": None}, [pairs[-1][1]], {"w": 4}, frozenset()


CHAIN = Graph(*((f"t{index}" if index else "x", f"t{index + 1}") for index in range(16)))
#: x -> a, then b1 b2 and c1 c2 beside each other, joined in d, then y; w goes through k without an input.
BRANCHES = Graph(
    ("w", "k"), ("x k", "a"), ("a", "b1"), ("b1", "b2"), ("a", "c1"), ("c1", "c2"), ("b2 c2", "d"), ("d", "y")
)


class Judge:
    """Fails where all operators of a list are in a part; notes the parts it was shown."""

    def __init__(self, graph, *faulty):
        makers = {node.name: index for index, node in enumerate(graph.nodes)}
        self.faulty, self.shown = {makers[name] for name in faulty}, []

    def __call__(self, part):
        self.shown.append(part)
        return "fails" if self.faulty <= set(part.nodes) else "passes"


def reduced(graph, *faulty, suspects=tuple, **options):
    judge = Judge(graph, *faulty)
    reducer = Reducer(PartCutter(graph), judge, ReduceOptions(**options), suspects)
    assert reducer.start(graph.outputs)
    part = reducer.reduce()
    names = [graph.nodes[index].name for index in part.nodes]
    assert len(set(judge.shown)) == len(judge.shown), "a part was judged twice"
    return names, part, judge, reducer


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("at", ["t1", "t2", "t7", "t16"])
def test_one_operator_of_a_chain_is_found_either_way(at, linear):
    names, part, judge, _ = reduced(CHAIN, at, linear=linear)
    assert (names, part.outputs) == ([at], (at,))
    assert len(judge.shown) <= (34 if linear else 9)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("at", ["a", "b1", "c2", "d", "y"])
def test_one_operator_of_two_branches_is_found_with_what_it_makes_of_weights(at, linear):
    names, part, _, _ = reduced(BRANCHES, at, linear=linear)
    assert names == (["k", "a"] if at == "a" else [at])
    assert "k" not in part.inputs


@pytest.mark.parametrize(("faulty", "kept"), [(("b1", "b2"), ["b1", "b2"]), (("b1", "c1"), ["b1", "b2", "c1"])])
def test_operators_that_are_wrong_together_stay_together(faulty, kept):
    assert reduced(BRANCHES, *faulty)[0] == kept


@pytest.mark.parametrize("faulty", [("p", "r"), ("q", "r"), ("p", "q"), ("p", "q", "r")])
def test_of_several_outputs_those_stay_that_a_fault_needs_together(faulty):
    graph = Graph(("x", "p"), ("x", "q"), ("x", "r"))
    graph.outputs = ["p", "q", "r"]
    names, part, _, _ = reduced(graph, *faulty)
    assert (tuple(names), part.outputs) == (faulty, faulty)


def test_a_fault_of_a_sequence_shows_in_what_is_made_of_it():
    """s is no tensor, so nothing can be compared but h, which is made beside it, or y."""
    graph = Graph(("x", "a"), ("a", "h"), ("h", "y"))
    node = graph.nodes[1]
    graph.nodes[1], graph.opaque = replace(node, outputs=("h", "s")), frozenset({"s"})
    names, part, _, _ = reduced(graph, "h", suspects=lambda: [1])
    assert (names, part.outputs) == (["h"], ("h",))
    names, part, _, _ = reduced(graph, "h")
    assert (names, part.outputs) == (["h"], ("h",))


def test_inputs_or_outputs_stay_where_they_are():
    assert reduced(CHAIN, "t7", outputs=False)[0] == [f"t{index}" for index in range(7, 17)]
    assert reduced(CHAIN, "t7", inputs=False)[0] == [f"t{index}" for index in range(1, 8)]


def test_a_suspect_is_tried_alone_before_all_else():
    judged = reduced(CHAIN, "t7", suspects=lambda: [2, 6], around=False)[2].shown
    assert [part.outputs for part in judged[1:3]] == [("t3",), ("t7",)]
    assert len(judged) <= 6


@pytest.mark.parametrize("options", [{"linear": True}, {"outputs": False}, {"inputs": False}])
def test_a_search_that_was_asked_for_asks_for_no_suspects(options):
    def suspects():
        raise AssertionError("asked")

    reduced(CHAIN, "t7", suspects=suspects, **options)


def test_a_passing_part_of_like_size_is_looked_for_beside_the_failing_one():
    _, part, _, reducer = reduced(CHAIN, "t7")
    nearest = reducer.nearest_passing()
    assert (nearest.size, nearest.outputs) == (part.size, ("t6",))
    _, _, _, alone = reduced(CHAIN, "t7", around=False, outputs=False, inputs=False)
    assert alone.nearest_passing() is None


def test_a_part_that_cannot_be_judged_is_no_failing_one():
    def judge(part):
        return "fails" if part.inputs == ("x",) else "unknown"

    reducer = Reducer(PartCutter(CHAIN), judge)
    assert reducer.start(CHAIN.outputs)
    assert [CHAIN.nodes[index].name for index in reducer.reduce().nodes] == ["t1"]


def test_nothing_is_reduced_of_a_model_that_passes():
    reducer = Reducer(PartCutter(CHAIN), lambda part: "passes")
    assert not reducer.start(CHAIN.outputs)
    assert (reducer.reduce(), reducer.nearest_passing()) == (None, None)
