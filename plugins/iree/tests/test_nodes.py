"""IREE over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_models import FewNodes, OneProcess

from polycmp.testing.nodes import NodeCorpus
from polycmp_iree import IreeRunner

pytest.importorskip("iree.compiler", reason="needs IREE: make test-iree")
pytestmark = pytest.mark.timeout(1800)


class _Iree(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    process = OneProcess("polycmp_iree.child")

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        yield
        self.process.end()

    def make_runner(self, model):
        return IreeRunner(model, start=lambda: self.process)


class TestFewNodes(FewNodes, _Iree):
    """Two of each operator."""


@pytest.mark.corpus
class TestNodes(_Iree):
    """All of them."""
