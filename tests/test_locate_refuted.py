"""An operator that float64 refutes is named, although a saturated output hides what it does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from toys import graph_model


def detector(path, factor: float) -> None:
    """Write x -> four times (Conv, Relu) -> Conv -> Sub 30 -> Sigmoid, with one kernel times a factor."""
    rng, nodes, weights, source = np.random.default_rng(2), [], [], "x"
    for index in range(5):
        kernel = (rng.standard_normal((8, 8 if index else 3, 3, 3)) / 6).astype(np.float32)
        weights.append((f"w{index}", kernel * np.float32(factor if index == 2 else 1)))
        nodes.append(
            helper.make_node("Conv", [source, f"w{index}"], [f"c{index}"], name=f"c{index}", pads=[1, 1, 1, 1])
        )
        source = f"c{index}"
        if index < 4:
            nodes.append(helper.make_node("Relu", [source], [f"r{index}"], name=f"r{index}"))
            source = f"r{index}"
    weights.append(("far", np.float32(16)))
    nodes += [
        helper.make_node("Sub", [source, "far"], ["s"], name="s"),
        helper.make_node("Sigmoid", ["s"], ["y"], name="y"),
    ]
    shape = [1, 3, 16, 16]
    onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, None)], weights), path)


@pytest.mark.parametrize("factor", [1.4, 1.0])
def test_a_wrong_convolution_before_a_saturated_sigmoid_is_named(polycmp, tmp_path, factor):
    detector(tmp_path / "old.onnx", 1.0)
    detector(tmp_path / "new.onnx", factor)
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(4).random((1, 3, 16, 16), np.float32))
    words = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs", "x.npz")
    done = polycmp("locate", "new.onnx", *words)
    text = " ".join(done.out.split())
    assert done.status == (1 if factor != 1.0 else 0), done.out
    assert ("Conv 'c2'" in text and "the outputs are within the tolerance all the same" in text) == (factor != 1.0)
