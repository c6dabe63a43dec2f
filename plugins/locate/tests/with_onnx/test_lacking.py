"""Outputs that one of two files lacks."""

from __future__ import annotations

import converted_models as converted
import numpy as np
import onnx
import pytest


@pytest.mark.parametrize("first", ["fewer", "all"])
def test_a_file_that_lacks_an_output_made_of_weights_alone_is_not_called_right(polycmp, tmp_path, first):
    nodes = [converted.node("Relu", "x", "y")]
    table = {"table": np.ones((3, 4), np.float32)}
    converted.save(tmp_path / "fewer.onnx", nodes, {})
    whole = onnx.load(converted.save(tmp_path / "all.onnx", [*nodes, converted.node("Exp", "table", "grid")], table))
    whole.graph.output.append(onnx.helper.make_tensor_value_info("grid", onnx.TensorProto.FLOAT, [3, 4]))
    onnx.save(whole, tmp_path / "all.onnx")
    second = "all" if first == "fewer" else "fewer"
    for command in ("locate", "run"):
        done = polycmp(command, f"{first}.onnx", "-b", "onnx:name=a", "-b", f"onnx:name=b,model={second}.onnx")
        assert done.status == 1, done.out
        assert "has no output 'grid'" in " ".join(done.out.split())
