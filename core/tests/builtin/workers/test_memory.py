"""Tensors in memory that two processes share."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.workers.memory import ALIGNMENT, Arena, create

TENSORS = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big endian": np.arange(3, dtype=">f8"),
    "low": np.arange(5).astype(ml_dtypes.bfloat16),
    "four bits": np.arange(5).astype(ml_dtypes.int4),
    "number": np.array(2.5),
    "empty": np.zeros((0, 3), np.int8),
    "texts": np.array([["a"], ["é"]], object),
    "flags": np.array([True, False]),
}


@pytest.fixture
def arenas():
    """Both sides of the same memory."""
    descriptor = create()
    writing, reading = Arena(descriptor), Arena(os.dup(descriptor))
    yield writing, reading
    writing.close(), reading.close()


def test_the_other_side_reads_what_was_put(arenas):
    writing, reading = arenas
    found = reading.get(writing.put(TENSORS))
    assert list(found) == list(TENSORS)
    for name, array in TENSORS.items():
        assert (found[name].shape, found[name].tolist()) == (array.shape, array.tolist()), name
        assert found[name].dtype == array.dtype.newbyteorder("="), name


def test_each_tensor_begins_where_vector_instructions_like_it(arenas):
    places = arenas[0].put(TENSORS)
    offsets = [place["offset"] for place in places if "offset" in place]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert offsets == sorted(offsets)


def test_it_grows_and_what_was_in_it_is_overwritten(arenas):
    writing, reading = arenas
    small = reading.get(writing.put({"x": np.ones(4, np.float32)}))["x"]
    large = np.arange(1 << 16, dtype=np.float32)
    found = reading.get(writing.put({"x": large}))["x"]
    np.testing.assert_array_equal(found, large)
    assert small.tolist() == [0.0, 1.0, 2.0, 3.0]  # the view that was there shows what is there now
    writing.put({"x": large[::-1].copy()})
    assert found[0] == large[-1]


def test_nothing_of_it_has_a_name(arenas):
    assert arenas[0].descriptor > 2
    assert os.fstat(arenas[0].descriptor).st_nlink == 0
