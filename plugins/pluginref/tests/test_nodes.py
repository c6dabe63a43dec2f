"""The plugin references, and the reference evaluator behind them, over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_pluginref.runner import PluginRefRunner


@pytest.mark.corpus  # the evaluator itself has the same cases in polycmp-onnx's tests
class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")

    def make_runner(self, model):
        return PluginRefRunner(model)
