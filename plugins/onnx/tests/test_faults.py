"""Faults of a model by ONNX's rules, with its weights in it or beside it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model

from polycmp_onnx.faults import Fault, faults_of, inference_fault

F = TensorProto.FLOAT
IN, OUT = [("x", F, [2, 6])], [("y", F, [3, 4])]
node = helper.make_node


def model(op, inputs=("x", "w"), output=OUT, weight=None, **attributes):
    """Return a model of one operator, whose weight is the shape [3, 4]."""
    array = np.array([3, 4]) if weight is None else weight
    return graph_model([node(op, [*inputs], ["y"], "n", **attributes)], IN, output, [("w", array)])


def beside(folder, made):
    """Have the weights of a model in a file beside it, and return it as it is without them."""
    onnx.save_model(made, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return onnx.load(folder / "m.onnx", load_external_data=False)


def test_a_sound_model_has_none(tmp_path):
    assert faults_of(model("Reshape")) == []
    assert faults_of(beside(tmp_path, model("Reshape")), tmp_path) == []


@pytest.mark.parametrize(
    ("made", "kind", "text", "harmless"),
    [
        (model("Relu", ("x",), slope=1.0), "checker", "Unrecognized attribute: slope", False),
        (model("Reshape", output=[("y", F, None)]), "checker", "is required but missing", True),
        (model("Reshape", weight=np.array([3, 5])), "inference", "", False),
    ],
    ids=["attribute", "no shape of an output", "does not fit"],
)
def test_what_the_rules_forbid_is_told_in_one_line(made, kind, text, harmless):
    if harmless:
        made.graph.output[0].type.tensor_type.ClearField("shape")
    [fault] = faults_of(made)
    assert (fault.kind, text in fault.text, "\n" in fault.text, fault.harmless) == (kind, True, False, harmless)


def test_a_small_weight_beside_the_model_is_looked_at_as_one_in_it(tmp_path):
    [fault] = faults_of(beside(tmp_path, model("Reshape", weight=np.array([3, 5]))), tmp_path)
    assert fault.kind == "inference"


@pytest.mark.parametrize("left", [None, 15])
def test_weights_that_are_not_in_their_file_are_named(tmp_path, left):
    made = beside(tmp_path, model("Reshape"))
    content = (tmp_path / "w.bin").read_bytes()
    (tmp_path / "w.bin").unlink()
    if left is not None:
        (tmp_path / "w.bin").write_bytes(content[:left])
    assert Fault("weights", "the weight 'w' is not in w.bin, where the model has it") in faults_of(made, tmp_path)


def test_what_inference_refuses_is_short_whatever_it_says():
    sound = graph_model(
        [node("Add", ["x", "w"], ["y"], "n" * 1000)], IN, [("y", F, [2, 6])], [("w", np.ones(6, np.float32))]
    )
    assert inference_fault(sound) == ""
    sound.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(5, np.float32), "w"))
    why = inference_fault(sound)
    assert len(why) == 400
    assert "\n" not in why
