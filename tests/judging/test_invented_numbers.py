"""Inputs of a single number are made up: where the reference gives NaN for them, no backend is accused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT


@pytest.fixture
def pitch(tmp_path):
    """A model whose logarithm of a number below 1 is not known to it: Log(fmin - 1), as of a lowest frequency."""
    node = helper.make_node
    nodes = [
        node("Sub", ["fmin", "one"], ["f"]), node("Log", ["f"], ["l"]), node("Mul", ["audio", "w"], ["m"]),
        node("Add", ["m", "l"], ["pitch"]),
    ]  # fmt: skip
    inputs = [("audio", FLOAT, [1, 16]), ("fmin", FLOAT, [])]
    weights = [("one", np.float32(1)), ("w", np.arange(16, dtype=np.float32))]
    for name, factor in (("old", 1.0), ("new", 1.5)):
        changed = [(key, value * np.float32(factor) if key == "w" else value) for key, value in weights]
        onnx.save(graph_model(nodes, inputs, [("pitch", FLOAT, None)], changed), tmp_path / f"{name}.onnx")


@pytest.mark.parametrize(("words", "verdict"), [((), "UNDECIDED"), (("--val-range", "[2,3]"), "NO FAULT")])
def test_locate_accuses_no_operator_of_them(polycmp, pitch, words, verdict):
    done = polycmp("locate", "old.onnx", "-b", "onnxrt", "-b", "onnx", *words)
    said = " ".join(done.out.split())
    assert f"{verdict}: " in said, said
    assert ("give them with --val-range fmin:[LOW,HIGH]" in said) is (verdict == "UNDECIDED")


def test_locate_names_a_file_that_differs_all_the_same(polycmp, pitch):
    done = polycmp("locate", "new.onnx", "old.onnx", "-b", "onnxrt")
    assert (done.status, "the constant 'w' of Mul" in " ".join(done.out.split())) == (1, True), done.out


@pytest.mark.parametrize(
    ("words", "status"), [((), 3), (("--val-range", "fmin:[50,60]"), 1), (("--val-range", "[2,3]"), 1)]
)
def test_nothing_is_said_of_a_backend_where_made_up_numbers_give_nan(polycmp, pitch, words, status):
    done = polycmp("run", "new.onnx", "old.onnx", "-b", "onnxrt", *words)
    said = " ".join(done.out.split())
    assert done.status == status, done.out
    assert ("was made up: give them with --val-range fmin:[LOW,HIGH]" in said) is (status == 3)
