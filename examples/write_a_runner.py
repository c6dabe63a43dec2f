"""A runner of your own: here plain NumPy, in your case the device that nobody else supports.

    python examples/write_a_runner.py

To use it as `polycmp run -b NAME`, put it into a plugin: `polycmp plugins new NAME` writes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from polycmp.comparator import Comparator, DataLoader
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

WEIGHT = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


class DenseRunner(Runner):
    """Calculates relu(x @ weight)."""

    def __init__(self, weight: np.ndarray, name: str = "") -> None:
        super().__init__(name)
        self.weight = weight

    def activate_impl(self) -> None:
        self.loaded = np.asfortranarray(self.weight)  # what takes time and memory belongs here

    def get_input_metadata_impl(self) -> TensorMetadata:
        return TensorMetadata().add("x", np.float32, ("batch", len(self.weight)))

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        return {"y": np.maximum(feed_dict["x"] @ self.loaded, 0)}

    def deactivate_impl(self) -> None:
        del self.loaded


def dense_model() -> bytes:
    """Return the same as ONNX."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", size])
        for name, size in (("x", 8), ("y", 4))
    )
    graph = helper.make_graph(nodes, "dense", [x], [y], [numpy_helper.from_array(WEIGHT, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def main() -> None:
    runners = [DenseRunner(WEIGHT, "numpy"), OnnxrtRunner(SessionFromOnnx(dense_model()), "onnxrt")]
    accuracy = Comparator.compare_accuracy(Comparator.run(runners, DataLoader(input_shapes={"x": (5, 8)})))
    print(accuracy.describe())
    assert accuracy


if __name__ == "__main__":
    main()
