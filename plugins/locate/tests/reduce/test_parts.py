"""Parts of a model, and the tensors that a reference feeds them with."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.reduce.parts import PartCutter, ReferenceTensors


class Graph:
    """x w -> a -> b s, of which s is a sequence; b s -> y; k is made of weights alone, and c of k and a."""

    def __init__(self, inputs=("x",), opaque=("s",)):
        ways = [("w", "k"), ("x k", "a"), ("a", "b s"), ("k a", "c"), ("b s c", "y")]
        self.nodes = [
            GraphNode("Op", made, inputs=tuple(reads.split()), outputs=tuple(made.split())) for reads, made in ways
        ]
        self.inputs, self.outputs, self.weights = dict.fromkeys(inputs), ["y"], {"w": 4}
        self.opaque = frozenset(opaque)


@pytest.mark.parametrize(
    ("chosen", "outputs", "inputs", "nodes"),
    [
        ([4], ["y"], ("b", "c", "a"), (2, 4)),  # no part begins with a sequence, so what makes it comes along
        ([3], ["c"], ("a",), (0, 3)),  # k is made of weights again
        ([2, 3], ["c"], ("a",), (0, 3)),  # what is not needed goes
        ([], ["b"], ("a",), (2,)),  # what makes an output belongs to it
        ([0, 1, 2, 3, 4], ["y"], ("x",), (0, 1, 2, 3, 4)),
    ],
)
def test_a_part_has_the_operators_that_are_chosen_and_needed(chosen, outputs, inputs, nodes):
    part = PartCutter(Graph()).between(chosen, outputs)
    assert (part.inputs, part.outputs, part.nodes, part.size) == (inputs, tuple(outputs), nodes, len(nodes))


def test_before_a_place_all_is_given_out_that_is_read_behind_it():
    cutter = PartCutter(Graph())
    assert set(cutter.before(3).outputs) == {"a", "b"}  # neither s, which is no tensor, nor k, which is no result
    assert cutter.before(5).outputs == ("y",)
    assert cutter.whole(["y"]) == cutter.between(range(5), ["y"])
    assert cutter.last(2, [1, 3], ["c"]).nodes == (0, 1, 3)


@pytest.mark.parametrize(("inputs", "begins", "nodes"), [((), ("d",), (2,)), (("x",), (), (0, 1, 2))])
def test_in_a_model_without_inputs_only_weights_are_made_again(inputs, begins, nodes):
    """All of it depends on weights alone, so every part would begin at the beginning."""
    graph = Graph(inputs, opaque=())
    ways = [(("w",), "c"), (("c",), "d"), (("d",), "y")]
    graph.nodes = [GraphNode("Op", made, inputs=reads, outputs=(made,)) for reads, made in ways]
    part = PartCutter(graph).between([2], ["y"])
    assert (part.inputs, part.nodes) == (begins, nodes)


class Reference:
    """Makes tensors of their names, but for some; notes what it was asked for."""

    def __init__(self, *lacking):
        self.lacking, self.asked = set(lacking), []

    def run_part(self, feed, names):
        self.asked.append(names)
        return None if self.lacking & set(names) else {name: f"{name} of {feed['x']}" for name in names}


def test_tensors_of_the_reference_are_made_once():
    reference = Reference("z")
    tensors = ReferenceTensors(reference, {"x": 1})
    assert tensors(["a", "x"]) == {"a": "a of 1", "x": 1}
    assert tensors(["b", "a"]) == {"b": "b of 1", "a": "a of 1"}
    assert tensors(["z"]) is None
    assert tensors(["x", "b"]) == {"x": 1, "b": "b of 1"}
    assert reference.asked == [["a"], ["b"], ["z"]]
