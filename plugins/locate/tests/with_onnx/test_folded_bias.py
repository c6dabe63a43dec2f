"""A bias that an optimiser puts into Conv, whose output keeps its name, is no fault of the file; a wrong one is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

RNG = np.random.default_rng(3)
WEIGHT, BIAS = (RNG.standard_normal(shape).astype(np.float32) for shape in ((6, 3, 3, 3), (1, 6, 1, 1)))


def network(bias: np.ndarray | None) -> onnx.ModelProto:
    """Return Conv -> + bias -> Relu -> Neg; the bias is in Conv where one is given, and the sum missing."""
    node = helper.make_node
    weights = [("w", WEIGHT), ("b", BIAS if bias is None else bias.reshape(-1))]
    if bias is None:
        nodes = [
            node("Conv", ["x", "w"], ["conv.0"], name="conv"),
            node("Add", ["conv.0", "b"], ["conv.1"], name="sum"),
        ]
    else:
        nodes = [node("Conv", ["x", "w", "b"], ["conv.0"], name="conv")]
    nodes += [node("Relu", [nodes[-1].output[0]], ["r"], name="relu"), node("Neg", ["r"], ["y"], name="neg")]
    shapes = [("x", TensorProto.FLOAT, [1, 3, 8, 8])], [("y", TensorProto.FLOAT, [1, 6, 6, 6])]
    return graph_model(nodes, *shapes, weights)


@pytest.mark.parametrize("command", [("locate",), ("run", "--mark-all")], ids=" ".join)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.3, 1)], ids=["right", "wrong"])
def test_the_bias_that_was_folded(polycmp, tmp_path, command, factor, status):
    onnx.save(network(None), tmp_path / "old.onnx")
    onnx.save(network(BIAS * np.float32(factor)), tmp_path / "new.onnx")
    said = polycmp(command[0], "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", *command[1:])
    assert said.status == status, said.out
    assert status == 0 or "conv.0" in said.out, said.out
