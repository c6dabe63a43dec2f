"""Commands that find a difference between two backends name `polycmp bisect` as the next step."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def model(tmp_path):
    """A model in double whose Relu and Clip ONNX Runtime joins and then cannot load."""
    ends = [onnx.numpy_helper.from_array(np.float64(value), name) for name, value in (("low", -1), ("high", 2))]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Clip", ["r", "low", "high"], ["y"], "clip")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [4])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [4])],
        ends,
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_locate_names_bisect_with_all_options(polycmp, model):
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", "--seed", "3")
    if done.status != 1:
        pytest.skip("this ONNX Runtime has mended the fusion")
    line = next(line for line in done.out.splitlines() if "polycmp bisect" in line)
    assert "-b onnxrt" in line
    assert "-b onnx" in line
    assert "--seed 3" in " ".join(done.out.split())


def test_nothing_is_named_where_nothing_was_found(polycmp, model):
    done = polycmp("locate", model, "-b", "onnx", "-b", "onnx")
    assert done.status == 0, done.out + done.err
    assert "polycmp bisect" not in done.out
