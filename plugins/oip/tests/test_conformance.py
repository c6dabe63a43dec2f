"""The runner keeps the contract, over both transports."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from polycmp.testing import OnnxRunnerContract
from polycmp_oip import OipRunner


class TestHttp(OnnxRunnerContract):
    def make_runner(self, load):
        return OipRunner(lambda: self.server.serve(load()), "served")

    @pytest.fixture(autouse=True)
    def _served(self, server):
        self.server = server


class TestGrpc(OnnxRunnerContract):
    def make_runner(self, load):
        return OipRunner(lambda: self.server.serve(load()), "served")

    @pytest.fixture(autouse=True)
    def _served(self, grpc_state):
        self.server = grpc_state
