"""The contract of runners, with a model in ONNX and what it must give: all that a backend has to add is its runner."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from polycmp.testing.runners import RunnerContract


class OnnxRunnerContract(RunnerContract):
    """Requirements on every runner of ONNX models. Write `make_runner`.

    The model outputs the product of `x` and `w`, the same once more, and its signs; the columns of `w` must fit the
    rows of `x`. What does not suit a backend is overridden, as in every contract.
    """

    capabilities: ClassVar[Collection[str]] = frozenset({"dynamic_shapes", "broken_model", "failing_inference"})

    def load(self) -> Any:
        """Return the model."""
        from onnx import TensorProto, helper

        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Identity", ["product"], ["copy"]),
            helper.make_node("Sign", ["product"], ["sign_as_float"]),
            helper.make_node("Cast", ["sign_as_float"], ["sign"], to=TensorProto.INT64),
        ]
        kinds = {"product": TensorProto.FLOAT, "copy": TensorProto.FLOAT, "sign": TensorProto.INT64}
        shapes = {"x": ["n", "k"], "w": ["l", 2]}
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in shapes.items()]
        outputs = [helper.make_tensor_value_info(name, kind, ["n", 2]) for name, kind in kinds.items()]
        graph = helper.make_graph(nodes, "graph", inputs, outputs)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def load_broken(self) -> Any:
        """Return bytes that are no model."""
        return b"nonsense"

    def feeds(self) -> Sequence[dict[str, Any]]:
        """Return two feeds."""
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        w = np.array([[1, -2], [0.5, 3], [4, -5]], np.float32)
        return [{"x": x, "w": w}, {"x": -x, "w": w + 1}]

    def other_shapes(self) -> dict[str, Any]:
        """Return a feed of other shapes."""
        return {"x": np.ones((4, 5), np.float32), "w": np.ones((5, 2), np.float32)}

    def failing_feed(self) -> dict[str, Any]:
        """Return a feed that fits the metadata and nothing else."""
        return {"x": np.ones((4, 5), np.float32), "w": np.ones((3, 2), np.float32)}

    def expected(self, feed: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for a feed."""
        product = feed["x"] @ feed["w"]
        return {"product": product, "copy": product, "sign": np.sign(product).astype(np.int64)}
