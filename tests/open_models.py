"""Models whose inputs are open and which do not run with every size; shared by the tests of hints and of runs."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT
RNG = np.random.default_rng(0)


def weight(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


node = helper.make_node
WAVE, PICTURE = ["batch", "samples"], ["n", 3, "h", "w"]
#: Name -> (declared shape, operators, weights, the axis, the hint's least, what it holds likely, a shape that works)
CASES = {
    "a frame of speech, padded by reflection": (
        WAVE,
        [
            node("Pad", ["x", "pads"], ["p"], mode="reflect"),
            node("Unsqueeze", ["p", "axis"], ["u"]),
            node("Conv", ["u", "k"], ["y"], kernel_shape=[256], strides=[128]),
        ],
        [("pads", ints(0, 32, 0, 32)), ("axis", ints(1)), ("k", weight(4, 1, 256))],
        (1, 192, ()),
    ),
    "features that a weight multiplies": (
        ["batch", "features"],
        [node("MatMul", ["x", "m"], ["y"])],
        [("m", weight(13, 4))],
        (1, 1, (13,)),
    ),
    "a classifier behind a flattened picture": (
        PICTURE,
        [
            node("Conv", ["x", "k"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("AveragePool", ["c"], ["a"], kernel_shape=[4, 4], strides=[4, 4]),
            node("Reshape", ["a", "flat"], ["f"]),
            node("Gemm", ["f", "m"], ["y"]),
        ],
        [("k", weight(5, 3, 3, 3)), ("flat", ints(1, 5 * 3 * 4)), ("m", weight(60, 2))],
        None,
    ),
    "a height that a weight fixes": (
        PICTURE,
        [
            node("Conv", ["x", "k"], ["c"], kernel_shape=[4, 4], strides=[4, 4]),
            node("Add", ["c", "rows"], ["y"]),
        ],
        [("k", weight(5, 3, 4, 4)), ("rows", weight(1, 5, 12, 1))],
        (2, 4, (48,)),
    ),
    "a network that goes down and up again": (
        PICTURE,
        [
            node("Conv", ["x", "k"], ["a"], kernel_shape=[2, 2], strides=[2, 2]),
            node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", ["b", "", "scales"], ["c"], mode="nearest"),
            node("Concat", ["a", "c"], ["y"], axis=1),
        ],
        [("k", weight(5, 3, 2, 2)), ("scales", np.array([1, 1, 2, 2], np.float32))],
        (2, 4, ()),
    ),
}


def make(case):
    """Return the model of a case."""
    declared, nodes, weights, _ = CASES[case]
    return graph_model(nodes, [("x", FLOAT, declared)], [("y", FLOAT, None)], weights)
