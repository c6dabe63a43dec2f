"""`inspect`, as a user sees it."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import onnx
import pytest

from polycmp.errors import UsageError
from polycmp_onnx.compose import make_loader
from polycmp_onnx.inspect import inspect


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


def test_inspecting(mlp, mlp_file):
    brief = inspect(make_loader(mlp_file))
    assert "Name: test | Opset: ONNX 17" in brief
    assert "x: float32[n,8]" in brief
    assert "y: float32[n,4]" in brief
    assert "1 Initializer\n" in brief
    assert "8 Nodes: 1 Add, 1 Cast, 1 Constant" in brief
    assert "[MatMul]" not in brief
    layers = inspect(make_loader(mlp_file), ["layers"])
    assert "Node 0 | (no name) [Op: MatMul]\n      {x: float32[n,8], w: float32[8,4] weight} -> {h}" in layers
    assert "keepdims" not in layers
    assert "keepdims = 0" in inspect(make_loader(mlp_file), ["attrs"])
    assert "w: float32[8,4] = [0.125" in inspect(make_loader(mlp_file), ["weights"])
    with pytest.raises(UsageError, match="'layer'"):
        inspect(make_loader(mlp_file), ["layer"])


def test_inspecting_subgraphs_and_every_kind_of_attribute(make_model):
    helper = onnx.helper
    branch = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["inner"])], "b", [], [helper.make_tensor_value_info("inner", 1, None)]
    )
    nodes = [
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        helper.make_node("Constant", [], ["k"], value=onnx.numpy_helper.from_array(np.arange(20, dtype=np.float32))),
        helper.make_node("Einsum", ["z", "k"], ["y"], equation="i,i->"),
    ]
    model = make_model(nodes, [("x", 1, [20]), ("c", onnx.TensorProto.BOOL, [])], [("y", 1, [])])
    text = inspect(lambda: model, ["layers", "attrs", "weights"])
    assert "graph b:" in text
    assert "[Op: Identity]" in text
    assert "equation = i,i->" in text
    assert "value = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, …]" in text
