"""A model of two products whose weights are large enough to lie outside, and parts of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.tensors import TensorMetadata
from polycmp_onnx import OnnxFromPath, SaveOnnx
from polycmp_onnx.model_graph import open_graph

FLOAT = TensorProto.FLOAT
RNG = np.random.default_rng(0)
FIRST, SECOND = (RNG.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
FEED = {"x": RNG.standard_normal((2, 64)).astype(np.float32)}
EXPECTED = np.maximum(FEED["x"] @ FIRST, 0) @ SECOND


def two_products() -> onnx.ModelProto:
    """Return x -> MatMul a -> h -> Relu -> r -> MatMul b -> y; each weight has 16 kB."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "b"], ["y"]),
    ]
    values = [helper.make_tensor_value_info(name, FLOAT, [2, 64]) for name in "xy"]
    weights = [numpy_helper.from_array(FIRST, "a"), numpy_helper.from_array(SECOND, "b")]
    made = helper.make_graph(nodes, "two products", values[:1], values[1:], weights)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(folder: Path, outside: bool) -> Path:
    """Write the model, its weights in the file or beside it."""
    path = folder / "m.onnx"
    SaveOnnx(two_products(), path, external_data_path="w.bin" if outside else None)()
    return path


@pytest.fixture(params=[False, True], ids=["in the file", "beside the file"])
def path(tmp_path, request):
    return write(tmp_path, request.param)


def second_half(path: Path):
    inputs = TensorMetadata().add("r", np.dtype(np.float32), (2, 64))
    return open_graph(OnnxFromPath(path)).cut(inputs, ["y"])
