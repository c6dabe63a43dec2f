"""ncnn over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest

from polycmp.testing.nodes import NodeCorpus
from polycmp_ncnn import NcnnRunner
from polycmp_ncnn.runner import start_child

pytest.importorskip("ncnn", reason="needs ncnn: make test-ncnn")
pytestmark = pytest.mark.timeout(1800)


class OneProcess:
    """A process for many models, one after the other: starting it takes longer than most of them."""

    def __init__(self):
        self.child = None

    def send(self, message):
        self.child = self.child or start_child()
        self.child.send(message)

    def receive(self):
        return self.child.receive()

    def ending(self):
        ending = self.child.ending()
        self.end()
        return ending

    def kill(self):
        pass

    def close(self):
        pass

    def end(self):
        child, self.child = self.child, None
        if child is not None:
            child.close()


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    process = OneProcess()

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        yield
        self.process.end()

    def make_runner(self, model):
        return NcnnRunner(model, start=lambda: self.process)
