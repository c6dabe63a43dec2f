"""What a model does with its inputs, read from its file: whole numbers that any will do for, divisors, pixels."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node as node
from onnx_results import role_of_x
from small_models import graph_model

FLOAT, INT64, INT32, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8
TABLE = ("table", np.arange(12, dtype=np.float32))
ONE = ("one", np.array(1, np.int64))
WHOLE = {
    "added": ([node("Add", ["x", "one"], ["y"])], "number"),
    "divided": ([node("Div", ["x", "one"], ["y"])], "number"),
    "divides": ([node("Div", ["one", "x"], ["y"])], "divisor"),
    "divides behind other operators": (
        [
            node("Cast", ["x"], ["a"], to=INT32),
            node("Identity", ["a"], ["b"]),
            node("Cast", ["b"], ["c"], to=INT64),
            node("Mod", ["one", "c"], ["y"]),
        ],
        "divisor",
    ),
    "divides as a real number": (
        [node("Cast", ["x"], ["r"], to=FLOAT), node("Div", ["table", "r"], ["y"])],
        "number",
    ),
    "is a place": ([node("Add", ["x", "one"], ["a"]), node("Gather", ["table", "a"], ["y"])], ""),
    "is a shape": ([node("Mul", ["x", "one"], ["a"]), node("Expand", ["one", "a"], ["y"])], ""),
    "is sliced with": ([node("Slice", ["table", "one", "x"], ["y"])], ""),
    "is only counted": ([node("Shape", ["x"], ["s"]), node("Gather", ["table", "s"], ["y"])], "number"),
    "goes into an operator of others": ([node("Odd", ["x"], ["y"], domain="others")], ""),
    "goes into a branch": (
        [
            node("Equal", ["x", "one"], ["e"]),
            node(
                "If",
                ["e"],
                ["y"],
                then_branch=graph_model([node("Identity", ["x"], ["t"])], [], [("t", INT64, None)]).graph,
                else_branch=graph_model([node("Identity", ["one"], ["f"])], [], [("f", INT64, None)]).graph,
            ),
        ],
        "",
    ),
}


@pytest.mark.parametrize("case", WHOLE)
def test_what_whole_numbers_are_for(tmp_path, case):
    nodes, expected = WHOLE[case]
    assert role_of_x(tmp_path, nodes, (INT64, [1]), [TABLE, ONE]) == expected
