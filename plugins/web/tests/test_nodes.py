"""ONNX Runtime Web over the one-node models of the onnx package."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_marks import needs_web

from polycmp.errors import BackendError
from polycmp.testing.nodes import NodeCorpus
from polycmp_web import WebRunner
from polycmp_web.library import library
from polycmp_web.node import NodeEngine

#: The release for which the list of refusals is exact; `make test-web` installs it.
_RELEASE = Path(__file__).with_name("npm.txt").read_text("utf-8").strip().rpartition("@")[2]
pytestmark = needs_web


class OneNode:
    """A process of Node for many models, one after the other: starting it takes longer than most of them."""

    def __init__(self):
        self.engine = None

    def ask(self, request):
        if self.engine is None:
            self.engine = NodeEngine(library("", "web"), "web")
        try:
            return self.engine.ask(request)
        except BackendError:
            self.end()
            raise

    def close(self):
        pass

    def end(self):
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()


class TestNodes(NodeCorpus):
    refusals = Path(__file__).with_name("node_refusals.txt")
    node = OneNode()

    @pytest.fixture(scope="class", autouse=True)
    def _ends(self):
        if library("", "web").version != _RELEASE:
            pytest.skip(f"the list is exact for onnxruntime-web {_RELEASE}")
        yield
        self.node.end()

    def make_runner(self, model):
        return WebRunner(model, start=lambda _library: self.node)
