"""`polycmp flaky` with ONNX Runtime: operators that draw random numbers, and models without."""

from __future__ import annotations

import json

import onnx
import pytest
from onnx import TensorProto, helper

SHAPE = ["n", 8]


def drawing(path, **attributes):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("RandomUniformLike", ["r"], ["noise"], "draw", **attributes),
        helper.make_node("Add", ["r", "noise"], ["y"]),
        helper.make_node("Relu", ["x"], ["z"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xyz"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_a_model_without_random_numbers(polycmp, model):
    done = polycmp("flaky", model, "-b", "onnxrt", "-b", "onnx", "--runs", "20", "--restart")
    assert done.status == 0, done.out


@pytest.mark.parametrize("backend", ["onnxrt", "onnx"])
def test_an_operator_that_draws_random_numbers_is_named(polycmp, tmp_path, backend):
    drawing(tmp_path / "m.onnx")
    done = polycmp("flaky", "m.onnx", "-b", backend, "--runs", "5", "--report", "r.json")
    assert done.status == 1
    assert "FAILED: 5 different results in 5 runs; first differing tensor in model order: RandomUniformLike" in done.out
    found = json.loads((tmp_path / "r.json").read_text())["flaky"][backend]
    assert found["first_differing"]["tensor"] == "noise"
    assert {name: item["different"] for name, item in found["runs"]["outputs"].items()} == {"y": 5, "z": 1}


def test_a_seed_makes_sessions_alike_and_runs_not(polycmp, tmp_path):
    drawing(tmp_path / "m.onnx", seed=3.0)
    done = polycmp("flaky", "m.onnx", "-b", "onnxrt", "--runs", "5", "--restart")
    assert done.status == 1
    assert "5 different results in 5 runs of one session, the same bits in 5 sessions" in " ".join(done.out.split())
