"""What users see of the backend `mnn`: commands, types and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from engine_models import FindsAnotherWeight, operator, polycmp, printed
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError, ModelError
from polycmp_mnn import MnnRunner

pytest.importorskip("MNN", reason="needs MNN: make test-mnn")


class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = "mnn"


def test_coarse_weights_are_judged_by_their_type(model, capsys):
    assert polycmp("run", model, "-b", "mnn:fp16", "-b", "onnxrt", "--report", "r.json") == 0
    (row,) = json.loads(Path("r.json").read_text("utf-8"))["comparison_results"][0]["outputs"].values()
    assert 1e-6 < row["max_error"] < 1e-2
    assert "float16" in printed(capsys)
    assert polycmp("run", model, "-b", "mnn:weight_bits=8", "-b", "onnxrt") == 0


def test_small_tiles_make_a_convolution_as_exact_as_others(model):
    values = np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype(np.float32) / 24
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64, 56, 56]) for name in "xy")
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(values, "w")])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "conv.onnx")
    assert polycmp("run", "conv.onnx", "-b", "mnn:winograd=false", "-b", "onnxrt") == 0


def test_nothing_that_mnn_prints_reaches_standard_output(model, capfd):
    assert polycmp("run", model, "-b", "mnn", "-q") == 0
    streams = capfd.readouterr()
    assert "Convert" not in streams.out and "device supports" not in streams.out


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "bool"])
def test_types_come_back_as_the_model_declares_them(name):
    array = np.array([[1, 0, 3], [7, 5, 2]]).astype(name)
    with MnnRunner(operator("Identity", helper.np_dtype_to_tensor_dtype(array.dtype))) as runner:
        result = runner.infer({"x": array})["y"]
    assert result.dtype == array.dtype and result.tolist() == array.tolist()


def test_numbers_beyond_32_bits_are_an_error_in_words():
    with MnnRunner(operator("Identity", TensorProto.INT64)) as runner:
        with pytest.raises(BackendError, match="beyond 32 bits"):
            runner.infer({"x": np.array([[2**40]])})
        assert runner.infer({"x": np.array([[2**30]])})["y"].tolist() == [[2**30]]


def test_an_operator_that_it_does_not_know_is_named():
    with pytest.raises(ModelError) as caught, MnnRunner(operator("Hardmax", TensorProto.FLOAT)):
        pass
    assert "Hardmax" in caught.value.why


def test_a_process_that_ends_is_an_error_in_words():
    with MnnRunner(operator("Identity", TensorProto.FLOAT)) as runner:
        runner._child.kill()
        with pytest.raises(BackendError, match="its process died"):
            runner.infer({"x": np.ones((2, 3), np.float32)})


def test_two_that_convert_at_once_do_not_take_each_others_weights(model):
    from concurrent.futures import ThreadPoolExecutor

    def outputs(_number):
        with MnnRunner(big) as runner:
            return runner.infer({"x": np.ones((1, 1024), np.float32)})["y"]

    values = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1024])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1024])
    weights = [numpy_helper.from_array(values, "w")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], weights)
    big = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(outputs, range(4)):
            np.testing.assert_allclose(result, values.sum(axis=0, keepdims=True), rtol=1e-4, atol=1e-3)
