"""OpenVINO over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_openvino import OpenvinoRunner
from polycmp_openvino.plugin import Options

pytest.importorskip("openvino", reason="needs OpenVINO: make test-openvino")


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return OpenvinoRunner(model, options=Options(threads=1))
