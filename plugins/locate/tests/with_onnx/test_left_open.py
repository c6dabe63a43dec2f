"""What the definition of an operator leaves open accuses nobody; one element more that differs does."""

from __future__ import annotations

import json

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import save_graph


@pytest.mark.parametrize(
    ("large", "status", "words"),
    [(1e20, 0, "left open"), (np.inf, 0, "left open"), (5e9, 1, "wrong")],
    ids=["beyond int64", "infinite", "within int64"],
)
def test_numbers_beyond_the_integers_that_cast_makes_are_left_open(polycmp, tmp_path, large, status, words):
    """Low bits of the largest integer are another one, and of 5e9 they are another number than Cast has to make."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["a"], name="double"),
        helper.make_node("Cast", ["a"], ["y"], name="cast", to=TensorProto.INT64),
    ]
    ends = [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.INT64, [4])]
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, [("two", np.float32(2))])
    np.savez(tmp_path / "x.npz", x=np.array([1.5, -3, large, 1e20], np.float32))
    backends = ("-b", "faulty:backend=onnx,fault=int32,at=cast", "-b", "onnx", "--load-inputs", tmp_path / "x.npz")
    done = polycmp("locate", model, *backends, "--report", "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert (done.status, found["words"]) == (status, words), done.out
    if status == 0:
        assert "numbers beyond int64, of which ONNX's Cast leaves the result open" in found["sentence"]
