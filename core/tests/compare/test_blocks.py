"""Walking through two arrays in blocks: every element once, whatever the shape and the layout."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare import blocks
from polycmp.compare.blocks import Pair, for_each_block, wide

SHAPES = [(), (0, 3), (7,), (3, 50), (50, 3), (2, 3, 4, 5), (1, 1, 40)]


def pair_of(shape, layout):
    a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return Pair(np.array(a, order=layout), a + 1)


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("block", [1, 8, 1000])
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_hold_every_element_once_at_its_position_in_c_order(shape, block, layout):
    pair = pair_of(shape, layout)
    positions = []
    for key, offset in pair.cuts(block):
        held = pair.candidate[key]
        assert held.size <= block
        positions += held.reshape(-1).tolist()
        assert held.reshape(-1)[0] == offset  # the elements count up
    assert positions == list(range(pair.size))


def test_an_element_is_told_by_its_position():
    pair = pair_of((2, 3), "F")
    assert pair.values_at(4) == ((1, 1), 4.0, 5.0)
    assert pair_of((), "C").values_at(0) == ((), 0.0, 1.0)


def test_shapes_that_differ_have_no_blocks():
    with pytest.raises(ValueError, match="shapes differ"):
        Pair(np.zeros(3), np.zeros((1, 3)))


@pytest.mark.parametrize("cores", [1, 3])
def test_each_thread_has_a_worker_of_its_own_and_an_error_of_any_is_raised(monkeypatch, cores):
    monkeypatch.setattr(blocks, "_PARALLEL", 64)
    monkeypatch.setattr(blocks, "usable_cores", lambda: cores)
    pair, sums = pair_of((10, 100), "C"), []

    def worker():
        sums.append(0)
        place = len(sums) - 1

        def work(candidate, reference, _offset):
            sums[place] += int((reference - candidate).sum())

        return work

    for_each_block(pair, worker, 50)
    assert (len(sums), sum(sums)) == (cores, 1000)

    def failing():
        def work(candidate, _reference, offset):
            if offset == 950:
                raise ZeroDivisionError

        return work

    with pytest.raises(ZeroDivisionError):
        for_each_block(pair, failing, 50)


def test_arrays_are_widened_without_loss():
    assert wide(np.array([1 + 2j], np.complex64)).dtype == np.complex128
    assert wide(np.array([3], np.int8)).dtype == np.float64
