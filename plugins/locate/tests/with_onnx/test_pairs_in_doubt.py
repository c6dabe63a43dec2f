"""`polycmp locate` where tensors of one name are laid out otherwise: the pair is in doubt, not its readers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_models import graph_model, save_graph


def test_an_operator_is_not_judged_by_tensors_of_another_shape_than_its_own(polycmp, tmp_path):
    """Both make y = 2 x, one of them from codes of 8 bits and with 't' transposed on the way.

    What operators of ONNX Runtime make has no shape that is known before it runs, so that names alone pair.
    """
    node, single = helper.make_node, TensorProto.FLOAT
    ends = [("x", single, [1, 4, 6])], [("y", single, [1, 4, 6])]
    weights = [("two", np.float32(2.0)), ("shape", np.array([1, 4, 6]))]
    nodes = [node("Reshape", ["x", "shape"], ["t"]), node("Mul", ["t", "two"], ["y"])]
    save_graph(tmp_path / "old.onnx", nodes, *ends, weights)
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["codes"], domain="com.microsoft"),
        node("DequantizeLinear", ["codes", "scale", "zero"], ["back"], domain="com.microsoft"),
        node("Transpose", ["back"], ["t"], perm=[0, 2, 1]), node("Transpose", ["t"], ["straight"], perm=[0, 2, 1]),
        node("Mul", ["straight", "two"], ["y"]),
    ]  # fmt: skip
    weights += [("scale", np.float32(1 / 255)), ("zero", np.uint8(0))]
    made = graph_model(nodes, *ends, weights)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(made, tmp_path / "new.onnx")
    said = polycmp("locate", "new.onnx", "old.onnx", "-b", "onnxrt", "--atol", "1e-6", "--rtol", "1e-6")
    (row,) = [line.split() for line in said.out.splitlines() if " y " in line and " Mul " in line]
    assert row[-1] == "-", "run alone on tensors of another shape it says nothing"
