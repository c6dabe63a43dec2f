"""TVM over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_models import FewNodes, OneProcess

from polycmp.testing.nodes import NodeCorpus
from polycmp_tvm import TvmRunner

pytest.importorskip("tvm", reason="needs TVM: make test-tvm")
pytestmark = pytest.mark.timeout(1800)


class _Tvm(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    process = OneProcess("polycmp_tvm.child")

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        yield
        self.process.end()

    def make_runner(self, model):
        return TvmRunner(model, start=lambda: self.process)


class TestFewNodes(FewNodes, _Tvm):
    """Two of each operator."""


@pytest.mark.corpus
class TestNodes(_Tvm):
    """All of them."""
