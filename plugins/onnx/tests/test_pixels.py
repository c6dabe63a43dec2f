"""Models that normalise pictures themselves."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.helper import make_node as node
from onnx_results import FLOAT, role_of_x


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
    assert role_of_x(tmp_path, nodes, (FLOAT, [1, 3, 8, 8]), weights) == expected


def test_constants_of_nodes_count_as_those_of_the_graph(tmp_path):
    constant = onnx.numpy_helper.from_array(numbers(255), "c")
    listed = onnx.helper.make_tensor("c", FLOAT, [1], [255.0])  # held as numbers, not as bytes
    for value in (constant, listed):
        nodes = [node("Constant", [], ["c"], value=value), node("Div", ["x", "c"], ["y"])]
        assert role_of_x(tmp_path, nodes, (FLOAT, [1, 3, 8, 8]), []) == "pixels"
