"""The contract of loaders: one that holds, and one that goes red."""

from __future__ import annotations

import pytest

from polycmp.loader import BytesFromPath
from polycmp.testing import (
    LoaderContract,
)


class TestBytesFromPath(LoaderContract):
    capabilities = frozenset({"broken_source", "source"})

    def make_loader(self):
        return BytesFromPath(__file__)

    def make_broken(self):
        return BytesFromPath("no/such/file")


def test_a_loader_that_does_not_repeat_itself_is_caught():
    class Moody(BytesFromPath):
        calls = 0

        def call_impl(self):
            self.calls += 1
            return bytes([self.calls])

    contract = TestBytesFromPath()
    contract.make_loader = lambda: Moody("x")
    with pytest.raises(AssertionError):
        contract.test_every_call_does_the_work_anew()
