"""Outputs that share memory with those of another run."""

from __future__ import annotations

import numpy as np

from polycmp._arrays import read_only
from polycmp.runs.buffer_reuse import sharing_memory


class TestSharing:
    def test_of_memory_that_somebody_can_write(self):
        buffer = np.zeros(10)
        assert sharing_memory({"y": buffer[2:5]}, {"one": {"a": buffer[4:6]}, "two": {"a": buffer[5:]}}) == ["one"]
        assert sharing_memory({"y": buffer[::-1]}, {"one": {"a": buffer[:1]}}) == ["one"]

    def test_views_of_inputs_and_constants_may_be_shared(self):
        given = read_only(np.zeros(10))
        assert not sharing_memory({"y": given[:5]}, {"one": {"y": given[:5]}})
        constant = np.frombuffer(bytes(40), np.float32)
        assert not sharing_memory({"y": constant.reshape(2, 5)}, {"one": {"y": constant}})

    def test_nothing_is_shared_where_there_is_nothing(self):
        empty = np.zeros((0, 3))
        assert not sharing_memory({"y": empty}, {"one": {"y": empty}})
