"""Graphs of onnx-graphsurgeon, for programs that change models with it."""

from __future__ import annotations

import sys

import pytest

import polycmp_onnx
from polycmp.errors import PluginError


def test_a_model_becomes_a_graph_and_is_taken_back(mlp, feed):
    pytest.importorskip("onnx_graphsurgeon")
    graph = polycmp_onnx.gs_from_onnx(mlp)
    assert [node.op for node in graph.nodes] == [node.op_type for node in mlp.graph.node]
    graph.nodes[1].op = "Abs"  # in place of Relu
    with polycmp_onnx.ReferenceRunner(graph) as changed, polycmp_onnx.ReferenceRunner(mlp) as runner:
        assert (changed.infer(feed)["y"] >= runner.infer(feed)["y"]).all()
        assert (changed.infer(feed)["y"] != runner.infer(feed)["y"]).any()


def test_without_the_package_it_says_what_to_install(monkeypatch, mlp):
    monkeypatch.setitem(sys.modules, "onnx_graphsurgeon", None)
    with pytest.raises(PluginError, match="need onnx-graphsurgeon") as caught:
        polycmp_onnx.gs_from_onnx(mlp)
    assert caught.value.hint == "pip install onnx-graphsurgeon"
