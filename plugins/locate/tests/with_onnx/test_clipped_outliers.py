"""A calibration by percentiles leaves out the largest numbers: that is no fault where the outputs do not show it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

SIZE = 2000
AVERAGE = np.full((SIZE, 1), 1.0 / SIZE, np.float32)


def network(largest: float | None) -> onnx.ModelProto:
    """Return Softplus -> average, with what it averages in 8 bits up to a number where that is given."""
    node = helper.make_node
    weights, made = [("w", AVERAGE)], "h"
    nodes = [node("Softplus", ["x"], ["h"], name="softplus")]
    if largest is not None:
        weights += [("scale", np.float32(largest / 255)), ("zero", np.uint8(0))]
        nodes += [
            node("QuantizeLinear", ["h", "scale", "zero"], ["codes"], name="to_codes"),
            node("DequantizeLinear", ["codes", "scale", "zero"], ["h8"], name="from_codes"),
        ]
        made = "h8"
    nodes.append(node("MatMul", [made, "w"], ["y"], name="average"))
    shapes = [("x", TensorProto.FLOAT, [1, SIZE])], [("y", TensorProto.FLOAT, [1, 1])]
    return graph_model(nodes, *shapes, weights)


@pytest.mark.parametrize(
    ("outlier", "largest", "status"),
    [(12.0, 8.0, 0), (12.0, 1.0, 1), (400.0, 8.0, 1)],
    ids=["one number", "all numbers", "one that the output shows"],
)
def test_a_scale_that_leaves_out_few_numbers_is_judged_by_the_outputs(polycmp, tmp_path, outlier, largest, status):
    inputs = np.random.default_rng(3).uniform(1.0, 7.0, (1, SIZE)).astype(np.float32)
    inputs[0, 70] = outlier
    np.savez(tmp_path / "x.npz", x=inputs)
    onnx.save(network(None), tmp_path / "old.onnx")
    onnx.save(network(largest), tmp_path / "new.onnx")
    said = polycmp(
        "locate", "new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--load-inputs", "x.npz"
    )
    assert said.status == status, said.out
    assert ("but the outputs do not show it" in said.out) is (status == 0), said.out
