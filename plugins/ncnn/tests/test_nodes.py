"""ncnn over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_models import FewNodes, OneProcess

from polycmp.testing.nodes import NodeCorpus
from polycmp_ncnn import NcnnRunner

pytest.importorskip("ncnn", reason="needs ncnn: make test-ncnn")
pytestmark = pytest.mark.timeout(1800)


class _Ncnn(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    process = OneProcess("polycmp_ncnn.child")

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        yield
        self.process.end()

    def make_runner(self, model):
        return NcnnRunner(model, start=lambda: self.process)


class TestFewNodes(FewNodes, _Ncnn):
    """Two of each operator."""


@pytest.mark.corpus
class TestNodes(_Ncnn):
    """All of them."""
