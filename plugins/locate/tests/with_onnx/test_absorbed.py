"""A bias or factors that an optimiser puts into Conv are no fault of the file; wrong ones are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import a_few
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


FACTORS = RNG.uniform(0.5, 1.5, (1, 6, 1, 1)).astype(np.float32)


def normalised(prefix: str, folded: float | None) -> onnx.ModelProto:
    """Return Conv -> * factors -> + bias -> + Relu of that, all but the last in Conv, times `folded`, where given."""
    node = helper.make_node
    if folded is None:
        weights = [("w", WEIGHT), ("c", BIAS.reshape(-1)), ("factors", FACTORS), ("b", BIAS)]
        nodes = [
            node("Conv", ["x", "w", "c"], [f"{prefix}conv"]),
            node("Mul", [f"{prefix}conv", "factors"], [f"{prefix}scaled"]),
            node("Add", [f"{prefix}scaled", "b"], [f"{prefix}moved"]),
        ]
    else:
        bias = (BIAS * FACTORS + BIAS).reshape(-1)
        weights = [("held", folded * WEIGHT * FACTORS.reshape(-1, 1, 1, 1)), ("added", bias)]
        weights = [(name, values.astype(np.float32)) for name, values in weights]
        nodes = [node("Conv", ["x", "held", "added"], [f"{prefix}conv"])]
    last, relu = nodes[-1].output[0], f"{prefix}relu"
    nodes += [node("Relu", [last], [relu]), node("Add", [last, relu], ["y"])]
    shapes = [("x", TensorProto.FLOAT, [1, 3, 8, 8])], [("y", TensorProto.FLOAT, [1, 6, 6, 6])]
    return graph_model(nodes, *shapes, weights)


@pytest.mark.parametrize("command", [("locate",), ("run", "--mark-all")], ids=" ".join)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.3, 1)], ids=["right", "wrong"])
@pytest.mark.parametrize("other", a_few(["new", "old"]))
def test_the_factors_and_sum_that_were_folded_where_no_name_is_kept(polycmp, tmp_path, command, factor, status, other):
    onnx.save(normalised("a.", factor), tmp_path / "new.onnx")
    onnx.save(normalised("b.", None), tmp_path / "old.onnx")
    one = "old" if other == "new" else "new"
    said = polycmp(
        command[0], f"{one}.onnx", "-b", f"onnx:name={one}", "-b", f"onnx:name={other},model={other}.onnx", *command[1:]
    )
    assert said.status == status, said.out
