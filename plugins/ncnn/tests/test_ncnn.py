"""What users see of the backend `ncnn`: commands, types and errors."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import main
from polycmp.errors import BackendError, ModelError
from polycmp_ncnn import NcnnRunner

pytest.importorskip("ncnn", reason="needs ncnn: make test-ncnn")


def network(scale=1.0):
    """Return y = mean(relu(conv(x))) * scale over the pixels of 8 channels."""
    rng = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 3, 1, 1)).astype(np.float32), "w"),
        numpy_helper.from_array(np.float32(scale), "scale"),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["filtered"], name="conv"),
        helper.make_node("Relu", ["filtered"], ["positive"], name="relu"),
        helper.make_node("GlobalAveragePool", ["positive"], ["mean"], name="pool"),
        helper.make_node("Mul", ["mean", "scale"], ["y"], name="mul"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8, 1, 1])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def operator(name, kind, **attributes):
    values = [helper.make_tensor_value_info(each, kind, ["n", "m"]) for each in "xy"]
    nodes = [helper.make_node(name, ["x"], ["y"], **attributes)]
    graph = helper.make_graph(nodes, "one", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "m.onnx")
    onnx.save(network(scale=1.01), "other.onnx")
    return "m.onnx"


def polycmp(*words):
    return main([str(word) for word in words])


def printed(capsys):
    """Everything that was written, with the breaks of tables taken out."""
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_agrees_with_onnx_runtime_and_another_weight_is_found(model):
    assert polycmp("run", model, "-b", "ncnn", "-b", "onnxrt") == 0
    assert polycmp("run", model, "-b", "ncnn", "-b", "onnxrt:model=other.onnx") == 1


def test_locate_names_the_operator_that_differs(model, capsys):
    assert polycmp("locate", model, "-b", "ncnn:model=other.onnx", "-b", "onnxrt") == 1
    assert "Mul 'mul'" in printed(capsys)


def test_half_precision_is_judged_by_its_type(model, capsys):
    assert polycmp("run", model, "-b", "ncnn:fp16", "-b", "onnxrt") == 0
    assert "float16" in printed(capsys)


def test_convolutions_agree_with_and_without_winograd(model):
    assert polycmp("run", model, "-b", "ncnn:winograd=false", "-b", "ncnn") == 0


def test_nothing_that_pnnx_prints_reaches_standard_output(model, capfd):
    assert polycmp("run", model, "-b", "ncnn", "-q") == 0
    assert "pnnx" not in capfd.readouterr().out


def test_open_sizes_are_converted_as_they_come():
    with NcnnRunner(operator("Relu", TensorProto.FLOAT)) as runner:
        for shape in ((2, 3), (5, 4), (2, 3)):
            array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
            assert np.array_equal(runner.infer({"x": array})["y"], np.maximum(array, 0))


def test_an_operator_that_it_does_not_know_is_an_error_in_words():
    with (
        NcnnRunner(operator("Hardmax", TensorProto.FLOAT)) as runner,
        pytest.raises(ModelError, match="cannot take the model"),
    ):
        runner.infer({"x": np.ones((2, 3), np.float32)})


def test_a_type_that_pnnx_does_not_take_is_an_error_in_words():
    with (
        NcnnRunner(operator("Not", TensorProto.BOOL)) as runner,
        pytest.raises(BackendError, match="takes no bool"),
    ):
        runner.infer({"x": np.ones((2, 3), bool)})


def test_a_process_that_ends_is_an_error_in_words():
    with NcnnRunner(operator("Relu", TensorProto.FLOAT)) as runner:
        runner.infer({"x": np.ones((2, 3), np.float32)})
        runner._child.kill()
        with pytest.raises(BackendError, match="its process died"):
            runner.infer({"x": np.ones((2, 3), np.float32)})


def test_without_pnnx_the_command_that_installs_it_is_shown(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pnnx", None)
    assert polycmp("run", model, "-b", "ncnn") == 3
    assert "pip install --no-deps pnnx" in printed(capsys)
