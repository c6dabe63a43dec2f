"""What one operator does by itself, measured: sums that cancel, and faults in them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_models import graph_model, save_graph


def average(path) -> None:
    """Write x -> GlobalAveragePool -> Mul with itself."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["m"], name="pool"),
        helper.make_node("Mul", ["m", "m"], ["y"], name="y"),
    ]
    onnx.save(
        graph_model(nodes, [("x", TensorProto.FLOAT, [1, 8, 160, 160])], [("y", TensorProto.FLOAT, None)], []), path
    )


def test_an_average_of_many_numbers_of_both_signs_is_rounding(polycmp, tmp_path):
    """A runtime that adds 25,600 numbers one after the other is off by more than one rounding of what is left."""
    average(tmp_path / "m.onnx")
    random = np.random.default_rng(0)
    halves = [random.normal(mean, 5, (1, 8, 80, 160)) for mean in (30, -29.9)]
    np.savez(tmp_path / "x.npz", x=np.concatenate(halves, 2).astype(np.float32))
    done = polycmp("locate", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", "x.npz")
    assert (done.status, "NO FAULT" in done.out) == (0, True), done.out


def test_a_wrong_average_is_named(polycmp, tmp_path):
    average(tmp_path / "m.onnx")
    wrong = "faulty:backend=onnxrt,fault=row-noise,at=pool"
    done = polycmp("locate", "m.onnx", "-b", wrong, "-b", "onnx")
    assert (done.status, "GlobalAveragePool 'pool'" in done.out) == (1, True), done.out


def test_a_wrong_average_of_float16_is_named_however_many_numbers_it_adds(polycmp, tmp_path):
    """Narrow types are summed in float32: many terms explain nothing that float16 itself does not."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["m"], name="pool")]
    nodes += [helper.make_node("Mul", ["m", "m"], ["y"], name="y")]
    ends = [("x", TensorProto.FLOAT16, [1, 8, 160, 160])], [("y", TensorProto.FLOAT16, None)]
    onnx.save(graph_model(nodes, *ends, []), tmp_path / "m.onnx")
    done = polycmp("locate", "m.onnx", "-b", "faulty:backend=onnxrt,fault=saturate,at=pool", "-b", "onnx")
    assert (done.status, "GlobalAveragePool 'pool'" in done.out) == (1, True), done.out


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
