"""`convert`, as a user sees it."""

from __future__ import annotations

from importlib.util import find_spec

import onnx
import pytest

needs_onnxrt = pytest.mark.skipif(find_spec("polycmp_onnxrt") is None, reason="runs models with polycmp-onnxrt")


@needs_onnxrt
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
        (("-o", "out.xyz"), 2, "no installed loader writes out.xyz"),
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


def test_groups_list_what_plugins_add(polycmp):
    pytest.importorskip("polycmp_trt")
    done = polycmp("inspect", "--help")
    assert done.status == 0
    assert "tactics" in done.out
    assert "data" in done.out


@needs_onnxrt
def test_float16_with_operators_that_stay_in_float32(polycmp, model, tmp_path):
    words = ("--fp-to-fp16", "--keep-float", "MatMul", "softmax")
    assert polycmp("convert", model, *words, "-o", "half.onnx").status == 0
    half = onnx.load(tmp_path / "half.onnx")
    onnx.checker.check_model(half)
    kept = onnx.load(model).graph.initializer[0]
    (weight,) = half.graph.initializer
    assert weight.data_type == onnx.TensorProto.FLOAT
    assert weight.raw_data == kept.raw_data  # not rounded on the way
    assert polycmp("run", "half.onnx", "-b", "onnxrt", "-b", f"onnxrt:model={model}", "--atol", "1e-2").status == 0
    done = polycmp("convert", model, "--fp-to-fp16", "--keep-float", "Nonsense", "-o", "no.onnx")
    assert (done.status, "no operator or node 'Nonsense'" in done.err) == (2, True)


def test_weights_that_float16_cannot_hold_are_clipped(polycmp, model, tmp_path):
    source = onnx.load(model)
    array = onnx.numpy_helper.to_array(source.graph.initializer[0]).copy()
    array[0, :3] = 1e6, -1e6, 1e-12
    source.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(array, "W"))
    onnx.save(source, tmp_path / "large.onnx")
    assert polycmp("convert", "large.onnx", "--fp-to-fp16", "-o", "half.onnx").status == 0
    half = onnx.numpy_helper.to_array(onnx.load(tmp_path / "half.onnx").graph.initializer[0])
    assert list(half[0, :3].astype(float)) == [65504.0, -65504.0, 2.0**-24]


def test_bfloat16(polycmp, model, tmp_path):
    assert polycmp("convert", model, "--fp-to-bf16", "-o", "brain.onnx").status == 0
    brain = onnx.load(tmp_path / "brain.onnx")
    onnx.checker.check_model(brain)
    assert {item.data_type for item in brain.graph.initializer} == {onnx.TensorProto.BFLOAT16}
    assert (
        polycmp(
            "run", "brain.onnx", "-b", "onnx", "-b", f"onnx:model={model}", "--atol", "0.05", "--allow-blind"
        ).status
        == 0
    )
    assert polycmp("convert", model, "--fp-to-bf16", "--fp-to-fp16", "-o", "no.onnx").status == 2
