"""The owner of a window's tensors: nothing that is left of a window holds memory once the next one is wanted."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from toymodels import chain

from polycmp.builtin.layerwise.window_tensors import WindowTensors
from polycmp.errors import InvalidValueError
from polycmp.layerwise import Windows, open_partitioned_runs
from polycmp.plan import from_values
from polycmp.plugins import Registry
from polycmp.runs import resolve


class Array(np.ndarray):
    """An array that can be watched: NumPy's own takes no weak references."""


def test_who_holds_a_window_or_a_runs_part_of_it_holds_no_tensor_afterwards():
    array = np.zeros(3).view(Array)
    alive = weakref.ref(array)
    tensors = WindowTensors({"mine": {"y": array}})
    del array
    part = tensors["mine"]
    with tensors:
        assert (list(tensors), list(part), part["y"].shape, len(tensors), len(part)) == (["mine"], ["y"], (3,), 1, 1)
    gc.collect()
    assert alive() is None
    assert (list(tensors), len(tensors)) == ([], 0)
    for use in (lambda: part["y"], lambda: list(part), lambda: tensors["mine"]):
        with pytest.raises(InvalidValueError, match="tensors of a window are gone") as caught:
            use()
        assert "copy what is wanted later" in caught.value.hint


def test_a_block_that_ends_with_an_error_lets_go_too():
    tensors = WindowTensors({"mine": {"y": np.zeros(3)}})
    with pytest.raises(KeyError), tensors:
        raise KeyError("y")
    assert not tensors


def test_a_step_that_is_kept_keeps_no_tensors_of_its_window(toybox, tmp_path):
    registry = Registry.discover({})
    chain(tmp_path / "m.toy", length=6, shape=(4, 8))
    resolved = resolve(from_values({"model": str(tmp_path / "m.toy"), "backend": ["toy", "plain"]}, registry), registry)
    runs = open_partitioned_runs(resolved)
    graph = runs[0].graph
    windows = Windows(runs, [name for node in graph.nodes for name in node.outputs], max_memory=1)
    feed = next(iter(resolved.source(graph.inputs)))
    kept = []
    for window, tensors in windows.windows(feed):
        assert not any(len(before) for before in kept)
        assert set(tensors) == {"toy", "plain"}
        assert set(window.segment.wanted) <= set(tensors["toy"])
        kept.append(tensors)
    windows.close()
    assert len(kept) > 1
    assert not any(len(before) for before in kept)
