"""The contract of data loaders: one that holds, and those that go red."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import DataError
from polycmp.testing import (
    DataLoaderContract,
)


class TestZeros(DataLoaderContract):
    capabilities = frozenset({"dynamic_shapes", "repeatable", "several", "refuses"})

    def make_data_loader(self):
        def load(inputs):
            if "impossible" in inputs:
                raise DataError("no data for 'impossible'")
            for _ in range(2):
                yield {name: np.zeros(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}

        return load

    def impossible_inputs(self):
        return super().inputs().add("impossible", "float32", ())


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("nothing", "test_feeds_fit_the_inputs"),
        ("type", "test_feeds_fit_the_inputs"),
        ("writes", "test_the_inputs_are_not_changed"),
        ("one array", "test_it_gives_several_feeds_that_share_no_memory"),
        ("moody", "test_it_repeats_itself"),
    ],
)
def test_wrong_data_loaders_are_caught(fault, test):
    calls = iter(range(1000))

    def load(inputs):
        if fault == "writes":
            inputs.add("more", "float32", ())
        value = next(calls) if fault == "moody" else 0
        feed = {n: np.full(e.static_shape(), value, "S1" if fault == "type" else e.dtype) for n, e in inputs.items()}
        yield from [] if fault == "nothing" else [feed, feed]

    contract = TestZeros()
    contract.make_data_loader = lambda: load
    with pytest.raises((AssertionError, DataError)):
        getattr(contract, test)()
