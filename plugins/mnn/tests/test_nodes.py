"""MNN over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_models import OneProcess

from polycmp.testing.nodes import Failure, NodeCorpus
from polycmp_mnn import MnnRunner

pytest.importorskip("MNN", reason="needs MNN: make test-mnn")
pytestmark = pytest.mark.timeout(900)


#: What MNN 3.6.1 does to the process of all cases, by the beginning of their names.
LEFT_OUT = {
    "test_onehot": "it takes all memory there is",  # its converter does, where the depth is an input
    "test_matmul_1d_1d": "it writes to memory of others",  # so that it, or a case behind it, dies in some runs
}


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    process = OneProcess("polycmp_mnn.child")

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        yield
        self.process.end()

    def try_case(self, case):
        reason = next((reason for name, reason in LEFT_OUT.items() if case.name.startswith(name)), None)
        return Failure(reason, in_words=True) if reason else super().try_case(case)

    def make_runner(self, model):
        return MnnRunner(model, start=lambda: self.process)
