"""Layers of which the tensors are held at the same time, and tensors that a backend does not show."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

from polycmp.errors import ModelError
from polycmp.tensors import TensorMetadata
from polycmp_locate.precision.rank import alone

FEED = {"x": np.zeros(4, np.float32)}


class Graph:
    """Knows the shapes of some tensors."""

    def types(self, fed):
        found = TensorMetadata()
        for name, shape in {"a": (25,), "b": (5, 5), "c": (100,), "d": ("n", 5)}.items():
            found.add(name, np.float32, shape)
        return found


def layer(reads, makes):
    return SimpleNamespace(inputs=(reads,), outputs=(makes,))


@pytest.mark.parametrize(
    ("budget", "counts"),
    [(1000, [4]), (800, [3, 1]), (799, [2, 2]), (599, [2, 1, 1]), (199, [1, 1, 1, 1]), (1, [1, 1, 1, 1])],
)
def test_as_many_layers_at_a_time_as_their_tensors_fit_and_one_at_least(monkeypatch, budget, counts):
    """Of 200, 200, 400 and 200 bytes."""
    monkeypatch.setattr(alone, "_MAX_BYTES", budget)
    layers = [layer("a", "b"), layer("b", "a"), layer("c", "c"), layer("a", "b")]
    chunks = list(alone.chunks_of(layers, Graph(), FEED))
    assert [len(chunk) for chunk in chunks] == counts
    assert list(chain.from_iterable(chunks)) == layers


def test_a_tensor_of_unknown_size_counts_as_a_megabyte(monkeypatch):
    monkeypatch.setattr(alone, "_MAX_BYTES", 2**20 + 100)
    for name, count in (("d", 2), ("e", 2), ("a", 1)):
        chunks = list(alone.chunks_of([layer("a", "b"), layer(name, name)], Graph(), FEED))
        assert len(chunks) == count


@pytest.mark.parametrize("outputs", [None, {"a": np.ones(2)}])
def test_a_backend_that_does_not_show_all_tensors_is_named(outputs):
    result = SimpleNamespace(error="it ran out of memory")
    run = SimpleNamespace(run_whole=lambda feed, names: outputs, label="new", result=result)
    with pytest.raises(ModelError) as raised:
        alone.inner_tensors(run, FEED, ["a", "b"])
    assert (raised.value.whose, raised.value.why) == ("new", "it ran out of memory")


def test_no_other_tensors_are_returned_than_asked_for():
    run = SimpleNamespace(run_whole=lambda feed, names: {"a": np.ones(2), "b": 3.0})
    assert alone.inner_tensors(run, FEED, ["b"]) == {"b": 3.0}
