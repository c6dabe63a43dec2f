"""MNN keeps the contract of runners."""

from __future__ import annotations

import pytest

from polycmp.testing import OnnxRunnerContract
from polycmp_mnn import MnnRunner

pytest.importorskip("MNN", reason="needs MNN: make test-mnn")


class TestMnnRunner(OnnxRunnerContract):
    def make_runner(self, load):
        return MnnRunner(load, name="mnn")
