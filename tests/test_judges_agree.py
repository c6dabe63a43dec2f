"""`run --tolerance auto`, `run --mark-all`, `locate` and saved outputs never contradict each other about one pair."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from toys import graph_model

WIDTH = 32


def network(last: float = 1.0, column: float = 1.0) -> onnx.ModelProto:
    """Return x [16,32] -> (MatMul, Add, Relu) three times -> MatMul, Mul; the end may be wrong by a factor."""
    rng, nodes, weights, source = np.random.default_rng(8), [], [], "x"
    node = helper.make_node
    for index in range(3):
        weights += [
            (f"w{index}", (rng.standard_normal((WIDTH, WIDTH)) * 1.4 / WIDTH**0.5).astype(np.float32)),
            (f"b{index}", (rng.standard_normal(WIDTH) * 0.1).astype(np.float32)),
        ]
        nodes += [
            node("MatMul", [source, f"w{index}"], [f"m{index}"], name=f"m{index}"),
            node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"a{index}"),
            node("Relu", [f"a{index}"], [f"r{index}"], name=f"r{index}"),
        ]
        source = f"r{index}"
    end = (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
    end[:, 3] *= column
    weights += [("end", end), ("scale", np.full(1, 1.5 * last, np.float32))]
    nodes += [node("MatMul", [source, "end"], ["l"], name="l"), node("Mul", ["l", "scale"], ["y"], name="y")]
    shape = [16, WIDTH]
    return graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], weights)


PAIRS = {
    "float32": ({}, "", True),
    "float16": ({}, "fp16", True),
    "bfloat16": ({}, "bf16", True),
    "float32, all 10 % larger": ({"last": 1.1}, "", False),
    "float16, all 10 % larger": ({"last": 1.1}, "fp16", False),
    "bfloat16, half of it": ({"last": 0.5}, "bf16", False),
    "float16, a column": ({"column": 1.6}, "fp16", False),
    "bfloat16, a column": ({"column": 3.0}, "bf16", False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_command_passes_what_another_fails(polycmp, tmp_path, name):
    changes, kind, good = PAIRS[name]
    onnx.save(network(), tmp_path / "old.onnx")
    onnx.save(network(**changes), tmp_path / "new.onnx")
    new = "new.onnx"
    if kind:
        assert polycmp("convert", new, f"--fp-to-{kind}", "-o", "coarse.onnx").status == 0
        new = "coarse.onnx"
    pair = ("-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx")
    found = {
        "auto": polycmp("run", new, *pair, "--tolerance", "auto").status,
        "mark-all": polycmp("run", new, *pair, "--mark-all").status,
        "locate": polycmp("locate", new, *pair).status,
    }
    assert all((status == 0) is good for status in found.values()), found
    saved = ("--save-outputs", "o.npz")
    assert polycmp("run", "old.onnx", "-b", "onnx:name=old", *saved, "--seed", "3").status == 0
    loaded = polycmp("run", new, "-b", "onnx:name=new", "--load-outputs", "o.npz", "--seed", "3")
    plain = polycmp("run", new, *pair, "--seed", "3")
    assert loaded.status == plain.status
