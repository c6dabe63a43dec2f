"""ONNX Runtime over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


@pytest.mark.corpus
class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return OnnxrtRunner(SessionFromOnnx(model, threads=1))
