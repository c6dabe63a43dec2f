"""`convert` and `inspect`, as a user sees them."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
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


def test_inspect_model_shows_inputs_outputs_and_layers(polycmp, model):
    done = polycmp("inspect", "model", model)
    assert done.status == 0
    assert "x: float32[n,8]" in done.out
    assert "y: float32[n,8]" in done.out
    assert "softmax" not in done.out
    layers = polycmp("inspect", "model", model, "--show", "layers", "attrs", "weights")
    assert "softmax" in layers.out


@needs_onnxrt
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


def test_functions_subgraphs_and_weights_outside_are_shown(polycmp, tmp_path):
    helper = onnx.helper
    value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x", "y")]
    weight = onnx.numpy_helper.from_array(np.ones(4, np.float32), "inner")
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "inner"], ["b"], "adds")], "then", [], [value[1]], [weight]
    )
    branch.output[0].name = "b"
    twice = helper.make_function("mine", "Twice", ["a"], ["c"], [helper.make_node("Add", ["a", "a"], ["c"])],
                                 [helper.make_opsetid("", 17)])  # fmt: skip
    nodes = [helper.make_node("If", ["flag"], ["h"], then_branch=branch, else_branch=branch),
             helper.make_node("Twice", ["h"], ["y"], domain="mine")]  # fmt: skip
    flag = onnx.numpy_helper.from_array(np.array(True), "flag")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], [flag])
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=[twice], ir_version=8), tmp_path / "m.onnx")
    shown = polycmp("inspect", "model", "m.onnx", "--show", "layers", "attrs", "weights").out
    assert [text for text in ("mine::Twice(a) -> c", "inner: float32[4]", "adds [Op: Add]") if text not in shown] == []
    found = json.loads(polycmp("inspect", "model", "m.onnx", "--json").out)
    assert found["functions"][0]["name"] == "Twice"
    assert found["nodes"][0]["subgraphs"]["then"]["initializers"][0]["name"] == "inner"


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
