"""ONNX Runtime keeps the contract of runners and loaders."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.testing import LoaderContract, RunnerContract
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def make_model():
    """Outputs a product, the same once more, and the signs; the columns of `w` must fit the rows of `x`."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Identity", ["product"], ["copy"]),
        helper.make_node("Sign", ["product"], ["sign_as_float"]),
        helper.make_node("Cast", ["sign_as_float"], ["sign"], to=TensorProto.INT64),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in
              (("x", ["n", "k"]), ("w", ["l", 2]))]  # fmt: skip
    outputs = [helper.make_tensor_value_info(name, kind, ["n", 2]) for name, kind in
               (("product", TensorProto.FLOAT), ("copy", TensorProto.FLOAT), ("sign", TensorProto.INT64))]  # fmt: skip
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class TestOnnxrtRunner(RunnerContract):
    capabilities = frozenset({"dynamic_shapes", "broken_model", "failing_inference", "torch"})

    def load(self):
        return make_model()

    def load_broken(self):
        return b"nonsense"

    def make_runner(self, load):
        return OnnxrtRunner(SessionFromOnnx(load, threads=1), name="ort")

    def feeds(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        w = np.array([[1, -2], [0.5, 3], [4, -5]], np.float32)
        return [{"x": x, "w": w}, {"x": -x, "w": w + 1}]

    def other_shapes(self):
        return {"x": np.ones((4, 5), np.float32), "w": np.ones((5, 2), np.float32)}

    def failing_feed(self):
        return {"x": np.ones((4, 5), np.float32), "w": np.ones((3, 2), np.float32)}

    def expected(self, feed):
        product = feed["x"] @ feed["w"]
        return {"product": product, "copy": product, "sign": np.sign(product).astype(np.int64)}


class TestSessionFromOnnx(LoaderContract):
    capabilities = frozenset({"broken_source"})

    def make_loader(self):
        return SessionFromOnnx(make_model(), providers=["cpu"], optimization="basic")

    def make_broken(self):
        return SessionFromOnnx("no/such/file.onnx")

    def same(self, one, other):
        signatures = [[(v.name, v.type, v.shape) for v in session.get_inputs()] for session in (one, other)]
        return one is not other and signatures[0] == signatures[1]


class TestSessionFromPath(LoaderContract):
    """The same by path, where the loader's `repr` is code that runs."""

    capabilities = frozenset({"source"})

    def make_loader(self):
        return self.loader

    same = TestSessionFromOnnx.same

    @pytest.fixture(autouse=True)
    def _saved(self, tmp_path):
        onnx.save(make_model(), tmp_path / "m.onnx")
        self.loader = SessionFromOnnx(str(tmp_path / "m.onnx"), threads=1)
