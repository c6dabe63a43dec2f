"""What the numbers in a model's tensors are made from."""

from __future__ import annotations

import pytest
from toymodels import drawn, node, number, write

from polycmp.session.upstream import Upstream, last_weights


@pytest.fixture
def graph(toybox, tmp_path):
    """x → MatMul big → h; z only gives its shape; y is h times a small number; c is made of weights alone."""
    from toybox.graph import ToyGraph
    from toybox.model import parse

    nodes = [
        node("MatMul", "x big", "h"),
        node("Shape", "z", "s"),
        node("Cast", "s", "f", to="float32"),
        node("Mul", "h half", "m"),
        node("Add", "m f", "y"),
        node("Add", "late late", "c"),
    ]
    weights = {"big": drawn(8, 8), "half": number(0.5), "late": drawn(4, 8)}
    inputs = {"x": ["float32", ["n", 8]], "z": ["float32", ["n", 8]]}
    path = write(tmp_path / "m.toy", nodes, weights, inputs, ("y", "c"))
    return ToyGraph(lambda: parse(path.read_bytes(), str(path)))


def test_inputs_whose_shapes_alone_count_are_not_upstream(graph):
    upstream = Upstream(graph)
    assert {name: upstream.inputs(name) for name in ("h", "y", "f", "c")} == {
        "h": {"x"},
        "y": {"x"},
        "f": set(),
        "c": set(),
    }


def test_a_tensor_has_matrices_where_weights_of_some_size_are_in_it(graph):
    upstream = Upstream(graph)
    assert [upstream.has_matrices(name) for name in ("h", "y", "c", "f")] == [True, True, True, False]


def test_the_weights_that_are_read_last_are_moved_as_far_as_there_is_room(graph, monkeypatch):
    assert last_weights(graph) == ["late", "half", "big"]
    monkeypatch.setattr("polycmp.session.upstream._MOST_WEIGHTS", 4 * 8 * 4 + 10)
    assert last_weights(graph) == ["late", "half"]
