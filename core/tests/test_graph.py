"""Operators of a model as the core names them."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode, OwnGraph


@pytest.mark.parametrize(
    ("node", "label"),
    [
        (GraphNode("Conv", "first"), "Conv 'first'"),
        (GraphNode("Conv", outputs=("y", "z")), "Conv 'y'"),
        (GraphNode("Conv"), "Conv ''"),
    ],
)
def test_an_operator_without_a_name_is_called_by_what_it_makes(node, label):
    assert node.label == label


def test_a_backends_own_graph_knows_no_cause_unless_it_says_so():
    assert OwnGraph().causes("y", None, {}) == ()
