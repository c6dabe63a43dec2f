"""IREE keeps the contract of runners."""

from __future__ import annotations

import pytest

from polycmp.testing import OnnxRunnerContract
from polycmp_iree import IreeRunner

pytest.importorskip("iree.compiler", reason="needs IREE: make test-iree")


class TestIreeRunner(OnnxRunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model"})  # it multiplies what does not fit, too

    def make_runner(self, load):
        return IreeRunner(load, name="iree")
