"""ncnn keeps the contract of runners."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from polycmp.testing import OnnxRunnerContract
from polycmp_ncnn import NcnnRunner

pytest.importorskip("ncnn", reason="needs ncnn: make test-ncnn")


class TestNcnnRunner(OnnxRunnerContract):
    """A product, its copy and its positive part: ncnn has no Sign and no whole numbers."""

    atol = 1e-5

    def load(self):
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Relu", ["product"], ["positive"]),
        ]
        shapes = {"x": ["n", "k"], "w": ["l", 2]}
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in shapes.items()]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("product", "positive")]
        graph = helper.make_graph(nodes, "graph", inputs, outputs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def make_runner(self, load):
        return NcnnRunner(load, name="ncnn")

    def expected(self, feed):
        product = feed["x"] @ feed["w"]
        return {"product": product, "positive": np.maximum(product, 0)}
