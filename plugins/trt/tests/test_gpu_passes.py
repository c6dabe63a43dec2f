"""Which of the builder's switches a fault hangs on."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

pytest.importorskip("polycmp_bisect")
pytestmark = pytest.mark.gpu


def test_a_switch_without_which_the_model_is_right_is_named(call, tmp_path):
    """Products of about 130,000 that float16 cannot hold, which the next product takes back.

    They are large enough that float16 is the faster in every build: of small ones the builder takes now this kernel,
    now that one, and then no switch is to blame.
    """
    size, rng = 2048, np.random.default_rng(3)
    nodes = [helper.make_node("MatMul", ["x", "large"], ["m"]), helper.make_node("MatMul", ["m", "small"], ["y"])]
    large = rng.uniform(2, 6, (size, size)).astype(np.float32)
    weights = {"large": large, "small": rng.uniform(-1e-3, 1e-3, (size, size)).astype(np.float32)}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size, size])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    path = tmp_path / "m.onnx"
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    judged = ("--val-range", "[15,17]", "--atol", "0.5", "--rtol", "1e-2")
    status, text, _ = call("run", path, "-b", "trt:fp16", "-b", "onnxrt", *judged)
    assert status == 1, text
    status, text, found = call("bisect", path, "-b", "trt:fp16", "-b", "onnxrt", "--over", "passes", *judged)
    assert status == 1, text
    assert found["switch"], text
    status, text, _ = call("run", path, *found["switch"]["words"].split(), "-b", "onnxrt", *judged)
    assert status == 0, text


def test_an_engine_without_any_tactic_source_is_what_a_search_may_try(call, tmp_path):
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    weight = np.random.default_rng(5).standard_normal((8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 16, 16])],
        [numpy_helper.from_array(weight, "w")],
    )
    path = tmp_path / "conv.onnx"
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    status, text, _ = call("run", path, "-b", "trt:tactic_sources=[]", "-b", "onnxrt", "--atol", "1e-4")
    assert status == 0, text
