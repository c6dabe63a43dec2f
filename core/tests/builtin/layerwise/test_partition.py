"""Cutting a graph into segments: each operator once, within the memory, and only where tensors cross."""

from __future__ import annotations

import pytest
from toymodels import chain, residual

from polycmp.builtin.layerwise.partition import GraphCuts, crossing, memory_budget, plan_segments
from polycmp.tensors import TensorMetadata


@pytest.fixture
def cuts_of(toybox, tmp_path):
    """Return a function that opens a toy of 64 rows, all of whose tensors are wanted."""
    from toybox.graph import ToyGraph
    from toybox.model import parse

    def make(write, **more):
        path = write(tmp_path / "m.toy", **more)
        graph = ToyGraph(lambda: parse(path.read_bytes(), str(path)))
        wanted = [name for node in graph.nodes for name in node.outputs]
        return GraphCuts(graph, wanted, graph.types(TensorMetadata().add("x", "float32", (64, 8))))

    return make


@pytest.fixture
def layout(cuts_of):
    """A chain of MatMuls and Relus; each tensor takes 2048 bytes, each weight 256."""
    return cuts_of(chain, length=6)


@pytest.mark.parametrize("budget", [1, 10_000, 30_000, 1 << 30])
def test_segments_cover_the_graph_once_and_stay_within_the_memory(layout, budget):
    segments = plan_segments(layout, budget, runs=2)
    assert [part.stop for part in segments[:-1]] == [part.start for part in segments[1:]]
    assert (segments[0].start, segments[-1].stop) == (0, len(layout.graph.nodes))
    wanted = [name for part in segments for name in part.wanted]
    assert wanted == [name for node in layout.graph.nodes for name in node.outputs]
    for part in segments:
        if part.stop - part.start > 1:
            assert 2 * sum(layout.sizes[name] for name in {*part.inputs, *part.outputs}) <= budget


def test_segments_of_several_operators_have_no_more_weights_than_they_may(layout):
    read = [layout.weights_read(index) for index in range(len(layout.graph.nodes))]
    most = 2 * max(read)
    segments = plan_segments(layout, 1 << 30, runs=2, most_weights=most)
    assert len(segments) > 2
    assert [part.stop for part in segments[:-1]] == [part.start for part in segments[1:]]
    assert all(sum(read[part.start : part.stop]) <= most for part in segments)
    assert len(plan_segments(layout, 1 << 30, runs=2)) == 1


@pytest.mark.parametrize("budget", [1, 8_000, 1 << 30])
def test_what_a_later_segment_reads_is_given_out_and_fed_again(cuts_of, budget):
    cuts = cuts_of(residual)
    segments = plan_segments(cuts, budget, runs=1)
    known = {"x"}
    for part in segments:
        assert set(part.inputs) <= known
        known |= set(part.outputs)
        dead = set(part.last_use)
        assert dead.isdisjoint(name for later in segments if later.start >= part.stop for name in later.inputs)
    assert "y" in segments[-1].outputs
    assert not {name for part in segments for name in part.inputs} & {"w", "ww"}  # weights, and what they alone make


def test_only_what_is_wanted_or_crosses_is_given_out(cuts_of):
    cuts = cuts_of(chain, length=3)
    few = GraphCuts(cuts.graph, ["y"], cuts.graph.types(TensorMetadata().add("x", "float32", (64, 8))))
    assert set(crossing(few, 3)) == {"h2"}
    first, second = few.segment(0, 3), few.segment(3, 6)
    assert (first.outputs, first.wanted, second.inputs, second.outputs) == (("h2",), (), ("h2",), ("y",))
    assert (few.bytes_made(0), few.bytes_made(5)) == (2048, 2048)


def test_a_tensor_of_unknown_shape_counts_like_the_largest_that_its_operator_reads(cuts_of):
    cuts = cuts_of(chain, length=1)
    assert GraphCuts(cuts.graph, [], TensorMetadata().add("x", "float32", (5, 8))).sizes == {
        "x": 160,
        "h1": 160,
        "y": 160,
    }


def test_nothing_is_cut_where_something_alive_is_no_tensor(cuts_of):
    cuts = cuts_of(chain, length=2)
    assert [cuts.can_cut(index) for index in range(4)] == [True] * 4
    cuts.graph.opaque = frozenset({"h1"})
    assert [cuts.can_cut(index) for index in range(4)] == [True, False, True, True]
    assert [(part.start, part.stop) for part in plan_segments(cuts, 1, runs=1)] == [(0, 2), (2, 3), (3, 4)]


def test_memory_that_was_asked_for_is_that_of_the_whole_process():
    assert memory_budget(1 << 40) > memory_budget(1 << 39) > 0
    assert memory_budget(8 << 20) == 1 << 20  # less than the process has already: an eighth of it, all the same
    assert memory_budget(0, few=True) >= memory_budget(0) >= 16 << 20
