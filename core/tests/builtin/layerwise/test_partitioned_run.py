"""One backend on its way through a graph: what its record says of iterations in several parts."""

from __future__ import annotations

import numpy as np
import pytest
from toymodels import chain

from polycmp.builtin.layerwise.partition import GraphCuts, plan_segments
from polycmp.layerwise import open_partitioned_runs
from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve
from polycmp.tensors import TensorMetadata

FEED = {"x": np.ones((2, 8), np.float32)}


@pytest.fixture
def run_of(toybox, tmp_path):
    """Return a function that opens a backend's run through a chain of four operators."""
    path = str(chain(tmp_path / "m.toy", 2))

    def make(words):
        registry = Registry.discover()
        resolved = resolve(Plan(model=path, backends=plan_backends([words], {}, registry)), registry)
        return open_partitioned_runs(resolved)[0]

    return make


def iterate(run, times, feed=FEED, keep=False):
    """Run all operators, each in a segment of its own, several times."""
    wanted = [name for node in run.graph.nodes for name in node.outputs]
    types = run.graph.types(TensorMetadata.from_feed_dict(feed))
    segments = plan_segments(GraphCuts(run.graph, wanted, types), budget=1, runs=1)
    assert len(segments) == 4
    outputs = {}
    for _ in range(times):
        run.begin(feed)
        for segment in segments:
            outputs.update(run.run(segment, keep=keep) or {})
        run.finish()
    return outputs


def test_an_iteration_takes_as_long_as_its_parts(run_of):
    run = run_of("toy:seconds=0.25")
    iterate(run, 3)
    assert run.result.timing is None  # it is summed up once, not sorted anew in each iteration
    run.close()
    assert (run.result.iterations, run.result.timing.count) == (3, 3)
    assert (run.result.timing.first, run.result.timing.p99) == (1.0, 1.0)


def test_its_record_has_the_tensors_that_it_showed(run_of):
    run = run_of("toy")
    outputs = iterate(run, 1)
    run.close()
    assert list(run.result.outputs) == ["h1", "r1", "h2", "y"]
    assert {name: entry.shape for name, entry in run.result.outputs.items()} == dict.fromkeys(outputs, (2, 8))
    assert not run.is_under_way


def test_one_that_fails_keeps_the_iterations_that_it_completed(run_of):
    run = run_of("toy:seconds=0.25,fault=raise,at=h2,after=1")
    iterate(run, 3, keep=True)
    run.close()
    assert not run.is_well
    assert "has had enough" in run.result.error
    assert (run.result.iterations, run.result.timing.count, run.result.timing.first) == (1, 1, 1.0)


def test_a_part_alone_is_no_iteration_and_its_failure_none_of_the_run(run_of):
    run = run_of("toy:fault=raise,at=h2")
    part = run.run_part({"x": FEED["x"]}, ["r1"])
    assert list(part) == ["r1"]
    assert run.run_part({"r1": part["r1"]}, ["y"]) is None
    assert run.is_well
    assert run.result.iterations == 0
    assert run.run_whole(FEED) is None
    assert "has had enough" in run.result.error
