"""Two models as one graph, or an error in words where that cannot be."""

from __future__ import annotations

import converted_models as converted
import faulty_models
import numpy as np
import onnx
import pytest
from located import locate_files, located
from onnx import save_model


def test_models_of_different_structure_are_an_error_in_words(polycmp, tmp_path):
    one, two = faulty_models.chain(tmp_path / "one.onnx", 2), faulty_models.residual(tmp_path / "two.onnx")
    done = polycmp("locate", one, "-b", "onnxrt", "-b", f"onnxrt:model={two}")
    assert done.status == 3
    assert "have different operators" in done.err


def test_two_models_without_anything_in_common_are_an_error_in_words(polycmp, tmp_path):
    good = converted.network(tmp_path / "good.onnx")
    other = converted.save(
        tmp_path / "other.onnx", [converted.node("Neg", "x", "minus"), converted.node("Exp", "minus", "y")], {}
    )
    done = locate_files(polycmp, other, good)
    assert done.status == 3
    assert "have different operators, and no tensor inside one could be paired" in done.err


@pytest.mark.parametrize("op, status", [("Tanh", 1), ("Sigmoid", 0)], ids=["wrong", "right"])
def test_a_small_model_of_other_operators_is_judged_as_a_whole_where_its_batch_is_open(polycmp, tmp_path, op, status):
    """A converter leaves the batch without a number and a name, and writes one operator where the other has many."""
    nodes = [
        converted.node("Neg", "x", "minus"),
        converted.node("Exp", "minus", "exp"),
        converted.node("Add", "exp one", "sum"),
        converted.node("Reciprocal", "sum", "y"),
    ]
    old = onnx.load(converted.save(tmp_path / "old.onnx", nodes, {"one": np.ones(1, np.float32)}))
    old.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    save_model(old, tmp_path / "old.onnx")
    new = onnx.load(converted.save(tmp_path / "new.onnx", [converted.node(op, "x", "y")], {}))
    for tensor in (*new.graph.input, *new.graph.output):
        tensor.type.tensor_type.shape.dim[0].ClearField("dim_param")
    save_model(new, tmp_path / "new.onnx")
    done = locate_files(polycmp, tmp_path / "new.onnx", tmp_path / "old.onnx")
    assert done.status == status, done.err
    if status:
        assert "new computes it with Tanh, old with Neg, Exp, Add, Reciprocal" in located(tmp_path)["sentence"]


def test_small_models_without_a_tensor_in_common_inside_are_judged_as_a_whole(polycmp, tmp_path):
    ones = {"ones": np.ones((1, 1, 1), np.float32), "two": np.full((1,), 2, np.float32)}
    good = converted.save(
        tmp_path / "good.onnx", [converted.node("Mul", "x two", "m"), converted.node("Relu", "m", "y")], ones
    )
    wrong = converted.save(tmp_path / "wrong.onnx", [converted.node("Relu", "x", "y")], {})
    done = locate_files(polycmp, wrong, good)
    assert done.status == 1, done.err
    assert "new leaves out Mul 'n_m' (2) of old" in done.out.replace("\n  ", " ")
    same = [converted.node("Relu", "x", "r"), converted.node("Mul", "r two", "y")]
    done = locate_files(polycmp, converted.save(tmp_path / "same.onnx", same, ones), good)
    assert done.status == 0, done.out
