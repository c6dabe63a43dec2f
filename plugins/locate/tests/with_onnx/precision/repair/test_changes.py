"""What was changed to mend a model, in words."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from mending import FAULTS, SOURCE
from onnx import numpy_helper

from polycmp_locate.precision.repair.changes import difference


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("scale of a norm", "parameter", "was 1.5 times the source's"),
        ("one element", "parameter", "1 of 216 elements differed"),
        ("pads", "hyperparameter", "pads [2, 1, 0, 1] -> [1, 1, 1, 1]"),
        pytest.param("epsilon", "hyperparameter", "epsilon 0.1 -> 1e-05", marks=pytest.mark.corpus),
        ("ceil_mode", "hyperparameter", "ceil_mode 1 -> (default)"),
        ("Transpose left out", "graph", "a Transpose was missing"),
        pytest.param("extra scale", "graph", "a Mul too many", marks=pytest.mark.corpus),
        ("Cast to int8 and back", "graph", "2 Cast too many"),
    ],
)
def test_what_was_changed_is_said(mend, name, kind, text):
    done, found = mend(FAULTS[name].planted(SOURCE))
    assert {item["kind"] for item in found["changes"]} == {kind}
    assert text in found["changes"][0]["text"]
    assert text in " ".join(done.out.split())


def test_swapped_channels_in_a_weight_are_called_an_input_fault(mend):
    faulty = copy_of(SOURCE)
    weight = next(item for item in faulty.graph.initializer if item.name == "down1.w")
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight)[:, ::-1].copy(), weight.name))
    _, found = mend(faulty)
    assert [(item["kind"], item["where"]) for item in found["changes"]] == [("input", "image")]
    assert "channels of axis 1 were in the opposite order" in found["changes"][0]["text"]


def copy_of(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), "shape [2, 3] -> [3, 2]: it was transposed"),
        (np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32), "shape [2, 3] -> [2, 4]"),
        (np.array([1, 2]), np.array([1, 3]), "[1, 2] -> [1, 3]"),
        (np.arange(9), np.arange(1, 10), "9 numbers -> 9 numbers"),
        (np.array([1, 2]), np.array([1, 2]), ""),
        (np.float32([1, 2]), np.float32([1, 2]) * np.float32(1 + 2**-23), ""),
    ],
)
def test_the_difference_of_a_weight_is_said_by_its_kind(old, new, said):
    assert difference(old, new) == said
