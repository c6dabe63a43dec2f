"""PyTorch over the one-node models of the onnx package, as onnx2pytorch converts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_torch import TorchFromOnnx, TorchRunner

pytest.importorskip("torch", reason="needs PyTorch: make test-torch")


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return TorchRunner(TorchFromOnnx(lambda: model))
