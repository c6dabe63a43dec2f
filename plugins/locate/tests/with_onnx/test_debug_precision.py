"""`polycmp debug precision`: how much of a model has to stay in float32."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from faulty_models import layers
from onnx import TensorProto

#: Fails unless a convolution's weight is still float32.
NEEDS = """\
import sys, onnx
model = onnx.load(sys.argv[1])
types = {item.name: item.data_type for item in model.graph.initializer}
node = next(node for node in model.graph.node if node.name == sys.argv[2])
sys.exit(0 if types[node.input[1]] == onnx.TensorProto.FLOAT else 1)
"""


@pytest.mark.parametrize(
    ("mode", "direction", "count"),
    [
        ("bisect", "forward", 5),
        ("linear", "reverse", 8),
        *(pytest.param(*way, marks=pytest.mark.corpus) for way in (("bisect", "reverse", 8), ("linear", "forward", 5))),
    ],
)
def test_as_many_as_are_needed_stay_in_float32(polycmp, tmp_path, mode, direction, count):
    layers(tmp_path / "chain.onnx", 12)
    Path("needs.py").write_text(NEEDS)
    words = ("--mode", mode, "--dir", direction, "-o", "mixed.onnx", "--report", "found.json")
    check = ("--check", sys.executable, "needs.py", "polycmp_debug.onnx", "n5")
    done = polycmp("debug", "precision", "chain.onnx", *words, *check)
    assert done.status == 0, done.out + done.err
    found = done.report(tmp_path / "found.json")
    names = [f"n{number}" for number in range(1, 13)]
    assert found["in_float32"] == (names[:count] if direction == "forward" else names[-count:])
    types = {item.data_type for item in onnx.load("mixed.onnx").graph.initializer}
    assert types == {TensorProto.FLOAT, TensorProto.FLOAT16}
    near = ("--atol", "1e-1", "--allow-blind")  # what matters here is which layers are in float16
    assert polycmp("run", "mixed.onnx", "-b", "onnxrt", "-b", "onnxrt:model=chain.onnx", *near).status == 0


@pytest.mark.parametrize(("check", "status", "text"), [("true", 0, "NO FAULT"), ("false", 1, "FAILED")])
def test_nothing_to_find(polycmp, tmp_path, check, status, text):
    layers(tmp_path / "chain.onnx", 4)
    done = polycmp(
        "debug",
        "precision",
        "chain.onnx",
        "-o",
        "mixed.onnx",
        "--check",
        "sh",
        "-c",
        f"cat polycmp_debug.onnx; {check}",
    )
    assert (done.status, text in done.out) == (status, True), done.out + done.err
    assert Path("mixed.onnx").exists() == (status == 0)
