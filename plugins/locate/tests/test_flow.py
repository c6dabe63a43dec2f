"""How an error flows through a graph."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.trials.flow import Flow


@pytest.fixture
def flow():
    """x -> a -> b -> y, and from a past b into c, which nothing but z reads."""
    ways = [("x", "a"), ("a", "b"), ("a", "c"), ("b", "y"), ("c x", "z")]
    return Flow([GraphNode("Op", outputs, inputs=tuple(read.split()), outputs=(outputs,)) for read, outputs in ways])


def test_an_error_reaches_what_is_made_of_it_as_far_as_tensors_carry_it(flow):
    assert flow.reached("a", lambda name: True) == {"a", "b", "c", "y", "z"}
    assert flow.reached("a", lambda name: name != "b") == {"a", "c", "z"}
    assert flow.reached("y", lambda name: True) == {"y"}


def test_what_a_tensor_is_made_of_ends_at_a_border(flow):
    assert flow.before("z") == {"z", "c", "x", "a"}
    assert flow.before("z", {"c"}) == {"z", "c", "x"}


def test_behind_tensors_are_what_their_readers_make(flow):
    assert flow.behind(["a"]) == {"b", "c"}
    assert flow.behind(["a", "b", "c"]) == {"y", "z"}
    assert [node.name for node in flow.readers("x")] == ["a", "z"]
    assert flow.readers("y") == []
    assert flow.computed == {"a", "b", "c", "y", "z"}
