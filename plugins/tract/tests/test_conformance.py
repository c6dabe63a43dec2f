"""tract keeps the contract of runners."""

from __future__ import annotations

import pytest

from polycmp.testing import OnnxRunnerContract
from polycmp_tract import TractRunner

pytest.importorskip("tract", reason="needs tract: make test-tract")


class TestTractRunner(OnnxRunnerContract):
    """All but what has to fail: tract 0.23 multiplies matrices whose inner sizes differ, where these are open."""

    capabilities = frozenset({"dynamic_shapes", "broken_model"})

    def make_runner(self, load):
        return TractRunner(load, name="tract")
