"""Classes, places and truth values: rounding turns some of them, here and there, and is not called a fault for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp_onnx import convert_to_bf16

FLOAT, WIDTH, ROWS = TensorProto.FLOAT, 32, 64
#: What decides, by its name: the operators behind scores, and the type of what they make.
DECIDING: dict[str, tuple[list[Any], int]] = {
    "class": ([helper.make_node("ArgMax", ["s"], ["y"], axis=-1)], TensorProto.INT64),
    "places": ([helper.make_node("TopK", ["s", "k"], ["top", "y"])], TensorProto.INT64),
    "truth": ([helper.make_node("Greater", ["s", "least"], ["y"])], TensorProto.BOOL),
}


def deciding(kind: str, seed: int) -> onnx.ModelProto:
    """Return three products with activations, and a decision on their scores."""
    rng = np.random.default_rng(seed)
    weights = [
        (f"w{place}", (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)) for place in range(3)
    ]
    weights += [("k", np.array([3])), ("least", np.float32(0.3))]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]), helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w1"], ["c"]), helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "w2"], ["s"]),
    ]  # fmt: skip
    operators, made = DECIDING[kind]
    return graph_model([*nodes, *operators], [("x", FLOAT, [ROWS, WIDTH])], [("y", made, None)], weights)


@pytest.mark.parametrize("kind", DECIDING)
def test_decisions_of_a_coarser_type_are_never_called_different(polycmp, tmp_path, kind):
    """Four samples in place of eight turn too few of the decisions in each of the three."""
    statuses = set()
    for seed in range(12):
        onnx.save(deciding(kind, seed), "old.onnx")
        onnx.save(convert_to_bf16(onnx.load("old.onnx")), "new.onnx")
        np.savez("x.npz", x=np.random.default_rng(100 + seed).standard_normal((ROWS, WIDTH)).astype(np.float32))
        done = polycmp(
            "run", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--load-inputs", "x.npz"
        )
        statuses.add(done.status)
        assert done.status in {0, 3}, done.out
    assert 3 in statuses, "some of them differ"
