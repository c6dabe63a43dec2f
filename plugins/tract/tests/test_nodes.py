"""tract over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_tract import TractRunner

pytest.importorskip("tract", reason="needs tract: make test-tract")


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return TractRunner(model)
