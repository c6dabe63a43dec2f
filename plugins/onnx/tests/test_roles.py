"""What a model does with its inputs, read from its file: whole numbers that any will do for, divisors, pixels."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_node as node
from small_models import graph_model

from polycmp_onnx.describe import describe

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


def role(tmp_path, nodes, entry, weights):
    """Return the role of the input x, as read from a file without `onnx` and from the model itself."""
    model = graph_model(nodes, [("x", *entry)], [("y", INT64, None)], weights)
    onnx.save(model, tmp_path / "m.onnx")
    (found,) = {describe(source).inputs["x"].role for source in (tmp_path / "m.onnx", lambda: model)}
    return found


@pytest.mark.parametrize("case", WHOLE)
def test_what_whole_numbers_are_for(tmp_path, case):
    nodes, expected = WHOLE[case]
    assert role(tmp_path, nodes, (INT64, [1]), [TABLE, ONE]) == expected


def numbers(*values):
    return np.array(values, np.float32)


MEANS = ("m", numbers(123.675, 116.28, 103.53).reshape(1, 3, 1, 1))
PICTURES = {
    "divided by 255": ([node("Div", ["x", "c"], ["y"])], [("c", numbers(255))], "pixels"),
    "multiplied": ([node("Mul", ["x", "c"], ["y"])], [("c", numbers(1 / 127.5))], "pixels"),
    "multiplied from the left": ([node("Mul", ["c", "x"], ["y"])], [("c", numbers(1 / 255))], "pixels"),
    "means in 0 to 255": ([node("Sub", ["x", "m"], ["y"])], [MEANS], "pixels"),
    "means added": ([node("Add", ["x", "c"], ["y"])], [("c", numbers(-127.5))], "pixels"),
    "behind a transposition": (
        [node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Sub", ["t", "m"], ["y"])],
        [MEANS],
        "pixels",
    ),
    "a constant that is shaped first": (
        [node("Unsqueeze", ["c", "axes"], ["u"]), node("Div", ["x", "u"], ["y"])],
        [("c", numbers(255)), ("axes", np.array([0], np.int64))],
        "pixels",
    ),
    "means in 0 to 1": ([node("Sub", ["x", "c"], ["y"])], [("c", numbers(0.485, 0.456, 0.406).reshape(3, 1, 1))], ""),
    "doubled": ([node("Mul", ["x", "c"], ["y"])], [("c", numbers(2))], ""),
    "halved": ([node("Div", ["x", "c"], ["y"])], [("c", numbers(2))], ""),
    "later": ([node("Relu", ["x"], ["r"]), node("Div", ["r", "c"], ["y"])], [("c", numbers(255))], ""),
}


@pytest.mark.parametrize("case", PICTURES)
def test_which_models_normalise_pictures_themselves(tmp_path, case):
    nodes, weights, expected = PICTURES[case]
    assert role(tmp_path, nodes, (FLOAT, [1, 3, 8, 8]), weights) == expected


def test_constants_of_nodes_count_as_those_of_the_graph(tmp_path):
    constant = onnx.numpy_helper.from_array(numbers(255), "c")
    listed = onnx.helper.make_tensor("c", FLOAT, [1], [255.0])  # held as numbers, not as bytes
    for value in (constant, listed):
        nodes = [node("Constant", [], ["c"], value=value), node("Div", ["x", "c"], ["y"])]
        assert role(tmp_path, nodes, (FLOAT, [1, 3, 8, 8]), []) == "pixels"
