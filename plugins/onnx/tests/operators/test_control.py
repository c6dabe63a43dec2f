"""Loops, scattering and gathering, corrected."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from operator_cases import Draw, F, by_hand, f, i, judged

from polycmp_onnx.reference import make_evaluator

floats = Draw().floats
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("Scatter", 9, [np.zeros((2, 2), F), i([[1]]), f([[5]])], {}, [[[0, 0], [5, 0]]]),
]
JUDGED = [
    ("Scatter", 9, [np.zeros((3, 3), np.float32), np.array([[1, 0, 2]]), floats(1, 3)], {}),
    *(("GatherElements", 13, [floats(*shape), np.array(at)], {"axis": axis}) for shape, at, axis in (
        ((2, 40), [[39, -1, 0], [1, 2, 3]], 1), ((40, 3), [[39, 0, -40]], 0), ((2, 3, 40), [[[5]], [[39]]], -1))),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)


@pytest.mark.parametrize("condition", [True, None])
@pytest.mark.parametrize("shape", [[], [2], [2, 3]])
def test_a_loop_stacks_what_it_scans(make_model, condition, shape):
    values = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["go_on"]), helper.make_node("Add", ["state", "x"], ["next"]),
         helper.make_node("Identity", ["next"], ["scanned"])],
        "body",
        [values("trip", TensorProto.INT64, []), values("going", TensorProto.BOOL, []), values("state", 1, shape)],
        [values("go_on", TensorProto.BOOL, []), values("next", 1, shape), values("scanned", 1, shape)],
    )  # fmt: skip
    weights = {"count": np.array(3, np.int64)} | ({} if condition is None else {"go": np.array(True)})
    node = helper.make_node("Loop", ["count", "" if condition is None else "go", "x"], ["last", "all"], body=body)
    model = make_model([node], [("x", 1, shape)], [("last", 1, shape), ("all", 1, None)], weights)
    x = np.ones(shape, np.float32)
    last, every = make_evaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(last, 4 * x)
    np.testing.assert_array_equal(every, np.stack([2 * x, 3 * x, 4 * x]))
