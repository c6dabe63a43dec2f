"""Two files whose inputs have other names, or another order: which is which is found out, told, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pairs
import pytest
from onnx import TensorProto, helper
from toys import graph_model

from polycmp_locate.pairing.inputs import pair_inputs
from polycmp_onnx.model_graph import OnnxGraph

NEW, OLD = ("-b", "onnxrt:name=new"), ("-b", "onnxrt:name=old,model=good.onnx")
TOLD = "inputs of new are taken for those of old: 'features' for 'x'"


@pytest.fixture
def models(tmp_path):
    """Write a network and the same with another name of its input, in which one bias is wrong."""
    good = pairs.network(tmp_path / "good.onnx")
    other = pairs.edited(good, tmp_path / "other.onnx", pairs.with_input("features"))
    pairs.edited(other, tmp_path / "wrong.onnx", pairs.scaled("1.down.bias", 2.0))
    return tmp_path


def said(done) -> str:
    return " ".join((done.out + done.err).split())


def test_all_tensors_are_compared_on_the_same_numbers(polycmp, models):
    done = polycmp("run", "other.onnx", *NEW, *OLD, "--mark-all")
    assert (done.status, TOLD in said(done)) == (0, True), done.out
    done = polycmp("run", "wrong.onnx", *NEW, *OLD, "--mark-all", "--report", "r.json")
    assert done.status == 1
    [pair] = json.loads(Path("r.json").read_text())["comparison_results"]
    failed = [name for name, item in pair["outputs"].items() if not item["passed"]]
    assert failed[0] == "downer1"


def test_inputs_of_a_file_have_the_names_of_the_reference(polycmp, models):
    np.savez("x.npz", x=np.random.default_rng(1).random((2, 5, pairs.WIDTH), np.float32))
    assert polycmp("run", "other.onnx", *NEW, *OLD, "--mark-all", "--load-inputs", "x.npz").status == 0


@pytest.mark.parametrize("words", [("--save-mixed",), ("--save-fixed",)], ids=["ranking", "repair"])
def test_what_is_written_keeps_its_own_names_of_inputs(polycmp, models, words):
    candidate = ("-b", "onnxrt:name=new,model=wrong.onnx")
    done = polycmp("locate", "good.onnx", *candidate, "-b", "onnxrt:name=old", "--atol", "1e-4", *words, "made.onnx")
    assert TOLD in said(done), said(done)
    made = onnx.load("made.onnx")
    onnx.checker.check_model(made)
    assert [value.name for value in made.graph.input] == ["features"]
    assert polycmp("run", "made.onnx", *NEW, *OLD, "--mark-all", "--atol", "1e-4").status == 0


@pytest.mark.parametrize("words", [("run", "--mark-all"), ("locate", "--rank"), ("locate", "--save-fixed", "f.onnx")])
def test_inputs_that_nobody_can_tell_apart_are_an_error_that_says_what_to_type(polycmp, models, words):
    more = helper.make_tensor_value_info("image", 1, ["batch", 3, 8, 8])
    pairs.edited(models / "other.onnx", models / "other.onnx", lambda model: model.graph.input.append(more))
    done = polycmp(words[0], "other.onnx", *NEW, *OLD, *words[1:])
    assert done.status == 3
    assert "has an input that the model of old has not" in said(done)
    assert "polycmp surgeon extract" in said(done)


def two_ways(one: str, two: str, *, first: str) -> OnnxGraph:
    """Return a model of two inputs of one shape, that are read by other operators; one of them is declared first."""
    nodes = [
        helper.make_node("Relu", [one], ["r"]),
        helper.make_node("Sigmoid", [two], ["s"]),
        helper.make_node("Sub", ["r", "s"], ["y"]),
    ]
    inputs = [(name, TensorProto.FLOAT, [2, 4]) for name in sorted((one, two), key=lambda name: name != first)]
    return OnnxGraph(graph_model(nodes, inputs, [("y", TensorProto.FLOAT, [2, 4])], []))


@pytest.mark.parametrize("first", ["c", "d"])
def test_inputs_that_look_alike_are_told_apart_by_what_reads_them(first):
    assert pair_inputs(two_ways("c", "d", first=first), two_ways("a", "b", first="a")) == {"a": "c", "b": "d"}


def test_inputs_that_look_alike_and_are_read_by_others_are_not_guessed():
    reference = two_ways("a", "b", first="a")
    nodes = [helper.make_node("Pow", ["c", "d"], ["y"])]
    inputs = [(name, TensorProto.FLOAT, [2, 4]) for name in "cd"]
    candidate = OnnxGraph(graph_model(nodes, inputs, [("y", TensorProto.FLOAT, [2, 4])], []))
    assert pair_inputs(candidate, reference) is None
