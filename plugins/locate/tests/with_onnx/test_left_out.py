"""Casts that an optimiser leaves out, with the rounding that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import save_graph

DOUBLE, FLOAT = TensorProto.DOUBLE, TensorProto.FLOAT


@pytest.mark.parametrize("before", ["x", "r"], ids=["of an input", "inside"])
def test_casts_that_are_left_out(optimising, tmp_path, before):
    """The rounding to float16 is what the model computes: y is 0 without it."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Cast", [before], ["half"], name="tohalf", to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["half"], ["b"], name="tofloat", to=FLOAT),
        helper.make_node("Sub", [before, "b"], ["e"], name="difference"),
        helper.make_node("Mul", ["e", "k"], ["y"], name="scale"),
    ]
    ends = [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])]
    status, found = optimising(
        save_graph(tmp_path / "m.onnx", nodes[before == "x" :], *ends, [("k", np.float32(1000))])
    )
    assert (status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "b")
    together = f"with Cast 'tohalf' and Cast 'tofloat' together, 'b' equals '{before}' bit by bit"
    assert f"{together}: optimising leaves both out" in found["sentence"]


@pytest.mark.parametrize("reader", ["Floor", "Cast"])
def test_casts_that_are_left_out_before_whole_numbers(optimising, tmp_path, reader):
    """Rounding could move a number across a whole one, too, but the backend does not round: it leaves the Casts out."""
    nodes = [
        helper.make_node("Mul", ["x", "one"], ["a"], name="mul"),
        helper.make_node("Cast", ["a"], ["f"], name="tofloat", to=FLOAT),
        helper.make_node("Cast", ["f"], ["d"], name="todouble", to=DOUBLE),
        helper.make_node(reader, ["d"], ["y"], name="whole", **({"to": TensorProto.INT64} if reader == "Cast" else {})),
    ]
    ends = [("x", DOUBLE, [4])], [("y", TensorProto.INT64 if reader == "Cast" else DOUBLE, [4])]
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, [("one", np.float64(1))])
    np.savez(tmp_path / "x.npz", x=np.array([0.99999999999, 1.0, 2.3, 2.99999999999]))
    status, found = optimising(model, "--load-inputs", tmp_path / "x.npz")
    assert (status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "d")
    together = "with Cast 'tofloat' and Cast 'todouble' together, 'd' equals 'a' bit by bit"
    assert f"{together}: optimising leaves both out" in found["sentence"]
