"""`convert`, as a user sees it."""

from __future__ import annotations

import json
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


def test_a_failed_conversion_leaves_the_old_file(polycmp, tmp_path):
    (tmp_path / "bad.onnx").write_text("no model")
    (tmp_path / "out.onnx").write_text("precious")
    assert polycmp("convert", "bad.onnx", "-o", "out.onnx").status == 3
    assert (tmp_path / "out.onnx").read_text() == "precious"


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


@needs_onnxrt
def test_weights_are_written_outside_and_old_files_replaced(polycmp, model, tmp_path):
    (tmp_path / "out.data").write_text("old")
    words = ("--save-external-data", "out.data", "--external-data-size-threshold", "16")
    assert polycmp("convert", model, "-o", "out.onnx", *words).status == 0
    (weight,) = onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    assert {item.key: item.value for item in weight.external_data}["location"] == "out.data"
    assert polycmp("run", "out.onnx", "-b", "onnxrt", "-b", f"onnxrt:model={model}").status == 0
    for elsewhere in ("out.onnx", "../out.data", str(tmp_path / "out.data")):
        assert polycmp("convert", model, "-o", "out.onnx", "--save-external-data", elsewhere).status == 2
    found = json.loads(polycmp("inspect", "model", "out.onnx", "--json").out)["initializers"]
    assert found[0]["external"]["location"] == "out.data"
    assert "1 of them outside the file, in out.data" in polycmp("inspect", "model", "out.onnx").out


def test_help_of_convert_shows_what_convert_uses(polycmp):
    shown = polycmp("convert", "--help").out
    assert [
        word for word in ("--fp-to-fp16", "--onnx-outputs", "--save-external-data", "-o") if word not in shown
    ] == []
    assert [word for word in ("--atol", "--report", "--save-onnx", "--onnxrt-", "--warm-up") if word in shown] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("plugin autotune m.onnx", "polycmp plugin replace"),
        ("multi-device shard m.onnx", "several devices"),
        ("template shard-hints m.onnx -o h.json", "several devices"),
        ("surgeon extrac m.onnx", "did you mean 'surgeon extract'"),
    ],
)
def test_words_of_polygraphy_that_mean_something_else_here(polycmp, words, text):
    done = polycmp(*words.split())
    assert (done.status, text in done.err) == (2, True), done.err
