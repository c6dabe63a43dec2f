"""Tensors that one model lays out otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from located import locate_files, located
from onnx import TensorProto, helper
from small_models import save_graph


@pytest.mark.parametrize("factor", [1.0, 3.0], ids=["right", "wrong"])
def test_another_layout_inside_is_no_fault_where_the_outputs_are_right(polycmp, tmp_path, factor):
    """The channels stand last in one file, as a converter puts them, and the shapes are open."""

    def network(name, factor, *moves):
        act = "t" if moves else "x"
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1])] if moves else []
        nodes += [
            helper.make_node("Relu", [act], ["act"], name="act"),
            helper.make_node("Mul", ["act", "factor"], ["scaled"], name="scale"),
            helper.make_node("ReduceMean", ["scaled"], ["y"], axes=[1, 2, 3], keepdims=0),
        ]
        ends = [("x", TensorProto.FLOAT, ["n", "c", "h", "w"])], [("y", TensorProto.FLOAT, ["n"])]
        return save_graph(tmp_path / name, nodes, *ends, [("factor", np.float32(factor))])

    made, source = network("made.onnx", factor, "channels last"), network("source.onnx", 1.0)
    done = locate_files(polycmp, made, source, "--input-shapes", "x:[2,3,4,5]")
    found = located(tmp_path)
    assert done.status == (0 if factor == 1 else 1), done.out
    assert all(row["passed"] for row in found["tensors"]) is (factor == 1)
