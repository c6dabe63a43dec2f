"""Rules for sizes, operator by operator: which size of an open dimension fits a weight that lies behind it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from open_models import FLOAT, ints, weight
from small_models import graph_model

from polycmp.tensors import TensorMetadata
from polycmp_onnx.hints import GraphHints

node = helper.make_node
#: By weights of seven rows behind it, an open dimension called k is 7 large.
SEVEN = (node("MatMul", ["h", "m"], ["y"]), ("m", weight(7, 2)))
#: operator, shape of its input, operator, its weights, what follows it, the size that fits
CASES = {
    "Transpose": (["k", 3], node("Transpose", ["x"], ["h"]), [], SEVEN, 7),
    "Slice": ([3, "k"], node("Slice", ["x", "a", "b", "c"], ["h"]),
              [("a", ints(2)), ("b", ints(99)), ("c", ints(1))], SEVEN, 9),
    "Slice by steps": ([3, "k"], node("Slice", ["x", "a", "b", "c", "d"], ["h"]),
                       [("a", ints(0)), ("b", ints(-1)), ("c", ints(1)), ("d", ints(2))], SEVEN, 15),
    "Concat": ([3, "k"], node("Concat", ["x", "more"], ["h"], axis=1), [("more", weight(3, 2))], SEVEN, 5),
    "Squeeze": ([3, 1, "k"], node("Squeeze", ["x", "a"], ["h"]), [("a", ints(1))], SEVEN, 7),
    "Unsqueeze": (["k"], node("Unsqueeze", ["x", "a"], ["h"]), [("a", ints(0))], SEVEN, 7),
    "Reshape": ([1, "k", 3], node("Reshape", ["x", "a"], ["h"]), [("a", ints(1, -1))],
                (node("MatMul", ["h", "m"], ["y"]), ("m", weight(21, 2))), 7),
    "Gather": ([3, 4, "k"], node("Gather", ["x", "a"], ["h"], axis=1), [("a", np.array(2))], SEVEN, 7),
    "ReduceMean": ([2, 3, "k"], node("ReduceMean", ["x"], ["h"], axes=[1], keepdims=0), [], SEVEN, 7),
    "Pad": ([3, "k"], node("Pad", ["x", "a"], ["h"]), [("a", ints(0, 1, 0, 1))], SEVEN, 5),
    "Relu": ([3, "k"], node("Relu", ["x"], ["h"]), [], SEVEN, 7),
    "Add": ([3, "k"], node("Relu", ["x"], ["h"]), [], (node("Add", ["h", "m"], ["y"]), ("m", weight(1, 7))), 7),
    "Gemm": ([3, "k"], node("Relu", ["x"], ["h"]), [],
             (node("Gemm", ["h", "m"], ["y"], transB=1), ("m", weight(2, 7))), 7),
    "ConvTranspose": ([1, 3, "k"], node("ConvTranspose", ["x", "w"], ["h"], strides=[2]), [("w", weight(3, 4, 3))],
                      (node("Add", ["h", "m"], ["y"]), ("m", weight(1, 4, 15))), 7),
    "Conv": ([1, 3, "k"], node("Conv", ["x", "w"], ["h"], dilations=[2]), [("w", weight(4, 3, 3))],
             (node("Add", ["h", "m"], ["y"]), ("m", weight(1, 4, 7))), 11),
    "channels of Conv": ([1, "k", 9], node("Relu", ["x"], ["h"]), [],
                         (node("Conv", ["h", "w"], ["y"], group=2), ("w", weight(4, 3, 3))), 6),
    "Resize": ([1, 3, "k"], node("Resize", ["x", "", "a"], ["h"]), [("a", np.float32([1, 1, 2]))],
               (node("Add", ["h", "m"], ["y"]), ("m", weight(1, 3, 14))), 7),
    "LSTM": ([5, 1, "k"], node("Relu", ["x"], ["h"]), [],
             (node("LSTM", ["h", "w", "r"], ["y"], hidden_size=2), ("w", weight(1, 8, 7)), ("r", weight(1, 8, 2))), 7),
}  # fmt: skip


def sizes(shape, first, weights, then):
    """Return the hints for the input of two operators."""
    last, *more = then
    model = graph_model([first, last], [("x", FLOAT, shape)], [("y", FLOAT, None)], [*weights, *more])
    return GraphHints(model).sizes(TensorMetadata().add("x", "float32", tuple(shape)))


@pytest.mark.parametrize("case", CASES)
def test_a_size_is_followed_through_an_operator(case):
    shape, first, weights, then, wanted = CASES[case]
    hint = sizes(shape, first, weights, then)["x", shape.index("k")]
    assert wanted in hint.likely, hint


@pytest.mark.parametrize(
    ("first", "weights"),
    [
        (node("GlobalAveragePool", ["x"], ["h"]), []),
        (node("Compress", ["x", "a"], ["h"], axis=2), [("a", np.array([True, False]))]),
        (node("Slice", ["x", "a", "b", "c"], ["h"]), [("a", ints(0)), ("b", ints(1)), ("c", ints(2))]),
    ],
    ids=["pooled", "no rule", "cut to one"],
)
def test_nothing_is_asked_of_a_size_that_does_not_reach_a_weight(first, weights):
    then = (node("Add", ["h", "m"], ["y"]), ("m", weight(1, 3, 1)))
    assert {hint.likely for hint in sizes([1, 3, "k"], first, weights, then).values()} <= {()}
