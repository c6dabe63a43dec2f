"""`inspect`, as a user sees it."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import onnx
import pytest


def test_inspect_model_shows_inputs_outputs_and_layers(polycmp, model):
    done = polycmp("inspect", "model", model)
    assert done.status == 0
    assert "x: float32[n,8]" in done.out
    assert "y: float32[n,8]" in done.out
    assert "softmax" not in done.out
    layers = polycmp("inspect", "model", model, "--show", "layers", "attrs", "weights")
    assert "softmax" in layers.out


@pytest.mark.skipif(find_spec("polycmp_onnxrt") is None, reason="runs models with polycmp-onnxrt")
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
