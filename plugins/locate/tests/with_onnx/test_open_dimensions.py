"""Kernels for open dimensions that are wrong."""

from __future__ import annotations

import shlex

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_models import save_graph

FLOAT = TensorProto.FLOAT


def test_a_kernel_for_open_dimensions_is_not_taken_for_a_backend_that_differs_from_itself(
    optimising, polycmp, tmp_path
):
    """A part of a model has the dimensions of its inputs, so that it is no second run of a model with open ones."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="exp"),
        helper.make_node("Neg", ["e"], ["n"], name="neg"),
        helper.make_node("Add", ["one", "n"], ["a"], name="add"),
        helper.make_node("Tanh", ["a"], ["y"], name="tanh"),
    ]
    ends = [("x", FLOAT, ["rows", 8])], [("y", FLOAT, ["rows", 8])]
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, [("one", np.float32(1))])
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).random((3, 8), np.float32))
    status, found = optimising(model, "--load-inputs", tmp_path / "x.npz", backend="optimising:skip=Differences")
    assert (status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "a")
    assert "computes Neg 'neg' and Add 'add' as one Sub (OpenDifferences), which is wrong" in found["sentence"]
    told = next(note for note in found["notes"] if "it computes otherwise where they are open" in note)
    command = shlex.split(told[told.index("surgeon") : told.index(" writes such a file")])
    assert polycmp(*command).status == 0
    shape = onnx.load(tmp_path / "m_sized.onnx").graph.input[0].type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [3, 8]
