"""TVM keeps the contract of runners."""

from __future__ import annotations

import pytest

from polycmp.testing import OnnxRunnerContract
from polycmp_tvm import TvmRunner

pytest.importorskip("tvm", reason="needs TVM: make test-tvm")


class TestTvmRunner(OnnxRunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model"})

    def make_runner(self, load):
        return TvmRunner(load, name="tvm")
