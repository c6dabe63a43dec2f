"""ONNX Runtime keeps the contract of runners and loaders."""

from __future__ import annotations

import onnx
import pytest

from polycmp.testing import LoaderContract, OnnxRunnerContract
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


class TestOnnxrtRunner(OnnxRunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model", "failing_inference", "torch"})

    def make_runner(self, load):
        return OnnxrtRunner(SessionFromOnnx(load, threads=1), name="ort")


class TestSessionFromOnnx(LoaderContract):
    capabilities = frozenset({"broken_source"})

    def make_loader(self):
        return SessionFromOnnx(OnnxRunnerContract().load(), providers=["cpu"], optimization="basic")

    def make_broken(self):
        return SessionFromOnnx("no/such/file.onnx")

    def same(self, one, other):
        signatures = [[(v.name, v.type, v.shape) for v in session.get_inputs()] for session in (one, other)]
        return one is not other and signatures[0] == signatures[1]


class TestSessionFromPath(LoaderContract):
    """The same by path, where the loader's `repr` is code that runs."""

    capabilities = frozenset({"source"})

    def make_loader(self):
        return self.loader

    same = TestSessionFromOnnx.same

    @pytest.fixture(autouse=True)
    def _saved(self, tmp_path):
        onnx.save(OnnxRunnerContract().load(), tmp_path / "m.onnx")
        self.loader = SessionFromOnnx(str(tmp_path / "m.onnx"), threads=1)
