"""Inputs of two models told apart by the operators behind them."""

from __future__ import annotations

import pytest
from toymodels import node, write

from polycmp.data.input_pairs import WHOLE
from polycmp.runs import compare_readers


@pytest.fixture
def graph_of(toybox, tmp_path):
    from toybox.graph import ToyGraph
    from toybox.model import parse

    def make(*nodes):
        inputs = {name: ["float32", [4]] for name in "ab"}
        path = write(tmp_path / f"{len(list(tmp_path.iterdir()))}.toy", list(nodes), {}, inputs)
        return ToyGraph(lambda: parse(path.read_bytes(), str(path)))

    return make


def test_the_place_among_operands_tells_unless_they_can_be_exchanged(graph_of):
    alike = compare_readers(graph_of(node("Sub", "a b", "y")), graph_of(node("Sub", "a b", "y")))
    assert (alike("a", "a", 1), alike("a", "b", 1)) == (True, False)
    alike = compare_readers(graph_of(node("Add", "a b", "y")), graph_of(node("Add", "a b", "y")))
    assert alike("a", "b", 1)


@pytest.mark.parametrize("depth", [2, WHOLE])
def test_operators_that_only_pass_on_do_not_count(graph_of, depth):
    plain = graph_of(node("Relu", "a", "r"), node("Sub", "r b", "y"))
    passing = graph_of(
        node("Identity", "a", "i"), node("Relu", "i", "r"), node("Cast", "r", "c"), node("Sub", "c b", "y")
    )
    alike = compare_readers(plain, passing)
    assert (alike("a", "a", depth), alike("b", "b", depth), alike("a", "b", depth)) == (True, True, False)


def test_what_differs_further_on_is_seen_as_far_as_one_looks(graph_of):
    one = graph_of(node("Relu", "a", "r"), node("Exp", "r", "e"), node("Sub", "e b", "y"))
    two = graph_of(node("Relu", "a", "r"), node("Sqrt", "r", "e"), node("Sub", "e b", "y"))
    alike = compare_readers(one, two)
    assert [alike("a", "a", depth) for depth in (1, 2, WHOLE)] == [True, False, False]
