"""`convert` and `inspect`, as a user sees them."""

from __future__ import annotations

import onnx
import pytest


def test_convert_to_float16_keeps_inputs_and_outputs(polycmp, model, tmp_path):
    done = polycmp("convert", "--fp-to-fp16", "-o", "half.onnx", model)
    assert done.status == 0, done.err
    half = onnx.load(tmp_path / "half.onnx")
    assert {item.data_type for item in half.graph.initializer} == {onnx.TensorProto.FLOAT16}
    assert half.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    compared = polycmp("run", "half.onnx", "-b", "onnxrt", "-b", f"onnxrt:model={model}", "--atol", "1e-2")
    assert compared.status == 0


def test_convert_can_mark_outputs(polycmp, model, tmp_path):
    assert polycmp("convert", model, "--onnx-outputs", "h", "r", "-o", "marked.onnx").status == 0
    assert [item.name for item in onnx.load(tmp_path / "marked.onnx").graph.output] == ["h", "r"]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("-o", "out.xyz"), 2, "nothing installed writes out.xyz"),
        ((), 2, "Missing option '-o'"),
        (("-o", "out.engine"), 3, "pip install 'polycmp-trt[cu12]'"),
        (("--int8", "--calibration-cache", "c.cache", "-o", "out.engine"), 3, "pip install 'polycmp-trt[cu12]'"),
    ],
)
def test_convert_says_what_it_cannot_do(polycmp, model, tmp_path, words, status, text):
    pytest.importorskip("polycmp_trt")
    done = polycmp("convert", model, *words)
    assert done.status == status
    assert text in done.err
    assert not (tmp_path / "out.engine").exists()


def test_a_failed_conversion_leaves_the_old_file(polycmp, tmp_path):
    (tmp_path / "bad.onnx").write_text("no model")
    (tmp_path / "out.onnx").write_text("precious")
    assert polycmp("convert", "bad.onnx", "-o", "out.onnx").status == 3
    assert (tmp_path / "out.onnx").read_text() == "precious"


def test_inspect_model_shows_inputs_outputs_and_layers(polycmp, model):
    done = polycmp("inspect", "model", model)
    assert done.status == 0
    assert "x: float32[n,8]" in done.out
    assert "y: float32[n,8]" in done.out
    assert "softmax" not in done.out
    layers = polycmp("inspect", "model", model, "--show", "layers", "attrs", "weights")
    assert "softmax" in layers.out


def test_inspect_data_shows_outputs_and_inputs(polycmp, model):
    words = ("--save-outputs", "out.json", "--save-inputs", "in.npz", "--iterations", 2)
    assert polycmp("run", model, "--onnxrt", "--onnx", *words).status == 0
    done = polycmp("inspect", "data", "out.json")
    assert done.status == 0
    assert "==== Outputs of 2 runs ====" in done.out
    assert "---- onnxrt (2 iterations) ----" in done.out
    assert "y [float32[1,8]] mean=0.125" in done.out
    inputs = polycmp("inspect", "data", "in.npz", "--all", "-s", "--histogram")
    assert "==== Inputs ====" in inputs.out
    assert "iteration 1" in inputs.out
    assert "[[" in inputs.out
    assert "#" in inputs.out


@pytest.mark.parametrize(("content", "text"), [(None, "nowhere.json"), ("{", "bad.json"), ('{"a": 1}', "bad.json")])
def test_inspect_data_names_the_file_that_is_wrong(polycmp, tmp_path, content, text):
    if content is not None:
        (tmp_path / "bad.json").write_text(content)
    done = polycmp("inspect", "data", text)
    assert done.status == 3
    assert text in done.err


def test_groups_list_what_plugins_add(polycmp):
    pytest.importorskip("polycmp_trt")
    done = polycmp("inspect", "--help")
    assert done.status == 0
    assert "tactics" in done.out
    assert "data" in done.out
