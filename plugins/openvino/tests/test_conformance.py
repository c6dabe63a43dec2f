"""OpenVINO keeps the contract of runners and loaders."""

from __future__ import annotations

import onnx
import pytest

from polycmp.testing import LoaderContract, OnnxRunnerContract
from polycmp_openvino import OpenvinoModel, OpenvinoRunner

pytest.importorskip("openvino", reason="needs OpenVINO: make test-openvino")


class TestOpenvinoRunner(OnnxRunnerContract):
    def make_runner(self, load):
        return OpenvinoRunner(OpenvinoModel(load), name="ov")


class TestOpenvinoModel(LoaderContract):
    """By path, where the loader's `repr` is code that runs."""

    capabilities = frozenset({"broken_source", "source"})

    def make_loader(self):
        return self.loader

    def make_broken(self):
        return OpenvinoModel("no/such/file.onnx")

    def same(self, one, other):
        signatures = [[str(port) for port in (*read.model.inputs, *read.model.outputs)] for read in (one, other)]
        return one is not other and signatures[0] == signatures[1]

    @pytest.fixture(autouse=True)
    def _saved(self, tmp_path):
        onnx.save(OnnxRunnerContract().load(), tmp_path / "m.onnx")
        self.loader = OpenvinoModel(str(tmp_path / "m.onnx"))
