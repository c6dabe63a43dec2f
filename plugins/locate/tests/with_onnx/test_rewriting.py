"""Operators that a backend replaces by others, as a search names them with the pass that does it."""

from __future__ import annotations

import numpy as np
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph

FLOAT = TensorProto.FLOAT


def layer_norm(path):
    """A layer norm by hand whose means have lost their dimension, so that columns are normalised by rows' figures."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", axes=[1], keepdims=0),
        helper.make_node("Sub", ["x", "mean"], ["centred"], name="sub"),
        helper.make_node("Pow", ["centred", "two"], ["square"], name="pow"),
        helper.make_node("ReduceMean", ["square"], ["variance"], name="variance", axes=[1], keepdims=0),
        helper.make_node("Add", ["variance", "epsilon"], ["shifted"], name="epsilon"),
        helper.make_node("Sqrt", ["shifted"], ["deviation"], name="sqrt"),
        helper.make_node("Div", ["centred", "deviation"], ["normal"], name="div"),
        helper.make_node("Mul", ["normal", "gain"], ["scaled"], name="gain"),
        helper.make_node("Add", ["scaled", "bias"], ["n"], name="bias"),
        helper.make_node("Tanh", ["n"], ["y"], name="tanh"),
    ]
    weights = [("two", np.float32(2)), ("epsilon", np.float32(1e-5))]
    weights += [("gain", np.linspace(0.5, 2, 8, dtype=np.float32)), ("bias", np.linspace(-1, 1, 8, dtype=np.float32))]
    return save_graph(path, nodes, [("x", FLOAT, [8, 8])], [("y", FLOAT, [8, 8])], weights, opset=13)


def test_all_operators_that_one_kernel_replaced_are_named_with_the_pass(polycmp, tmp_path):
    model = layer_norm(tmp_path / "m.onnx")
    if polycmp("run", model, "-b", "onnxrt", "-b", "onnx").status == 0:
        pytest.skip("this ONNX Runtime computes it rightly")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "n")
    named = [node["name"] for node in found["fused"]["operators"]]
    assert named == ["mean", "sub", "pow", "variance", "epsilon", "sqrt", "div", "gain", "bias"]
    assert found["fused"]["replaced_by"] == ["LayerNormalization"]
    assert "as one LayerNormalization (LayerNormFusion" in found["sentence"]
    words = found["fused"]["switch"]["words"]
    assert polycmp("run", model, *words.split(), "-b", "onnx").status == 0


def test_operators_between_two_others_that_became_one(optimising, tmp_path):
    """What happens to `n` is inside; the pass that does it is found among those that do nothing here."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="exp"),
        helper.make_node("Neg", ["e"], ["n"], name="neg"),
        helper.make_node("Add", ["one", "n"], ["a"], name="add"),
        helper.make_node("Tanh", ["a"], ["y"], name="tanh"),
    ]
    ends = [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])]
    status, found = optimising(save_graph(tmp_path / "m.onnx", nodes, *ends, [("one", np.float32(1))]))
    assert (status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "a")
    assert "computes Neg 'neg' and Add 'add' as one Sub (Differences), which is wrong" in found["sentence"]
    assert found["sentence"].endswith("workaround: -b optimising:skip=Differences")


def test_a_slow_backend_is_searched_as_any_other(optimising, tmp_path, monkeypatch):
    """How long the whole model takes says nothing of what is wrong with it."""
    monkeypatch.setenv("SLOW", "3.2")
    test_operators_between_two_others_that_became_one(optimising, tmp_path)
