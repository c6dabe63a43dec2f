"""Scan along any axis and in either direction, and of opset 8, which knows batches."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from polycmp_onnx.reference import make_evaluator

F = TensorProto.FLOAT
X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


def scan_model(make_model, shapes, steps, opset=17, lengths=False, **attributes):
    """Return a model that adds slices up, and scans the sums."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "item"], ["next"]), helper.make_node("Identity", ["next"], ["out"])],
        "body", [value("sum", F, shapes[0][-1:]), value("item", F, shapes[0][-1:])],
        [value("next", F, shapes[0][-1:]), value("out", F, shapes[0][-1:])],
    )  # fmt: skip
    names = [*(["lengths"] if lengths else [""] if opset == 8 else []), "zero", "x"]
    node = helper.make_node("Scan", names, ["last", "all"], body=body, num_scan_inputs=1, **attributes)
    inputs = [("zero", F, shapes[0]), ("x", F, steps), *([("lengths", TensorProto.INT64, [2])] if lengths else [])]
    return make_model([node], inputs, [("last", F, None), ("all", F, None)], opset=opset)


@pytest.mark.parametrize(
    ("attributes", "last", "scanned"),
    [
        ({}, [5, 7, 9], [[1, 2, 3], [5, 7, 9]]),
        ({"scan_input_axes": [1]}, [6, 15], [[1, 4], [3, 9], [6, 15]]),
        ({"scan_output_axes": [1]}, [5, 7, 9], [[1, 5], [2, 7], [3, 9]]),
        ({"scan_input_directions": [1]}, [5, 7, 9], [[4, 5, 6], [5, 7, 9]]),
        ({"scan_output_directions": [1]}, [5, 7, 9], [[5, 7, 9], [1, 2, 3]]),
    ],
)
def test_slices_are_scanned_along_their_axis_in_their_direction(make_model, attributes, last, scanned):
    size = len(last)
    model = scan_model(make_model, [[size]], [2, 3], **attributes)
    found = make_evaluator(model).run(None, {"zero": np.zeros(size, np.float32), "x": X})
    assert [item.tolist() for item in found] == [last, scanned]
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert [item.tolist() for item in session.run(None, {"zero": np.zeros(size, np.float32), "x": X})] == [
        last,
        scanned,
    ]


def test_no_slice_leaves_the_state_and_scans_nothing(make_model):
    model = scan_model(make_model, [[3]], [0, 3])
    last, scanned = make_evaluator(model).run(None, {"zero": X[0], "x": np.empty((0, 3), np.float32)})
    assert (last.tolist(), scanned.shape) == ([1, 2, 3], (0, 3))


@pytest.mark.parametrize(
    ("lengths", "attributes", "last", "scanned"),
    [
        (False, {}, [[9], [12]], [[[1], [4], [9]], [[2], [6], [12]]]),
        (True, {}, [[4], [12]], [[[1], [4], [0]], [[2], [6], [12]]]),
        (False, {"directions": [1]}, [[9], [12]], [[[5], [8], [9]], [[6], [10], [12]]]),
    ],
)
def test_opset_8_scans_each_element_of_a_batch_as_far_as_it_goes(make_model, lengths, attributes, last, scanned):
    model = scan_model(make_model, [[2, 1]], [2, 3, 1], 8, lengths, **attributes)
    feed = {"zero": np.zeros((2, 1), np.float32), "x": np.float32([[[1], [3], [5]], [[2], [4], [6]]])}
    found = make_evaluator(model).run(None, {**feed, **({"lengths": np.array([2, 3])} if lengths else {})})
    assert [item.tolist() for item in found] == [last, scanned]
