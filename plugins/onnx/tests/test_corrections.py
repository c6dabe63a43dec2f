"""Operators of the reference evaluator that we correct agree with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, defs, helper
from packaging.version import Version

from polycmp_onnx.corrections import corrections
from polycmp_onnx.reference import make_evaluator

ort = pytest.importorskip("onnxruntime")
#: Operators that older releases of ONNX Runtime lack, or calculate wrongly: the first release that is right.
RIGHT_SINCE = {"RMSNormalization": "1.23", "AveragePool": "1.21"}
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


IMAGE, SCALES = floats(2, 3, 8, 7), np.array([1, 1, 2, 3], np.float32)
CHANNELS = [floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.1]
CASES = [
    *((op, opset, [floats(2, 3, 4)], {"axis": axis}) for op in ("Softmax", "LogSoftmax", "Hardmax")
      for opset in (11, 13) for axis in (0, 1, 2)),
    ("LogSoftmax", 13, [np.array([[0, 1000]], np.float32)], {}),
    ("BatchNormalization", 7, [IMAGE, *CHANNELS], {"epsilon": 1e-3}),
    ("BatchNormalization", 9, [IMAGE, *CHANNELS], {}),
    *(("GlobalMaxPool", 13, [floats(2, 3, *spatial)], {}) for spatial in ([5], [4, 5], [2, 3, 4])),
    ("LRN", 13, [floats(2, 7, 3, 3)], {"size": 5}),
    *(("MeanVarianceNormalization", opset, [IMAGE / 10 + 5], attributes)
      for opset, attributes in ((9, {}), (13, {"axes": [0, -1]}))),
    ("LpNormalization", 7, [floats(2, 5)], {"p": 1}),
    ("LpNormalization", 7, [np.zeros((2, 5), np.float32)], {"p": 2}),
    ("LayerNormalization", 17, [floats(2, 3, 5), floats(3, 5), floats(3, 5)], {"axis": 1}),
    ("RMSNormalization", 23, [floats(2, 5), floats(5)], {}),
    *(("MaxPool", opset, [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad})
      for opset in (8, 12) for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    *(("MaxPool", 12, [IMAGE], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 1], "ceil_mode": ceil})
      for ceil in (0, 1)),
    ("MaxPool", 12, [IMAGE], {"kernel_shape": [3, 3], "dilations": [2, 1]}),
    ("MaxPool", 12, [floats(1, 2, 9)], {"kernel_shape": [3]}),
    *(("AveragePool", 19, [IMAGE], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": ceil,
       "count_include_pad": pad}) for ceil in (0, 1) for pad in (0, 1)),
    *(("AveragePool", 11, [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad})
      for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    *(("GlobalMaxPool", 13, [floats(2, 3, *size)], {}) for size in ((5,), (5, 4), (2, 3, 4))),
    ("Upsample", 9, [IMAGE, SCALES], {}),
    ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 2.0]}),
    ("Upsample", 9, [IMAGE, SCALES], {"mode": "linear"}),
    ("Resize", 10, [IMAGE, SCALES], {"mode": "nearest"}),
    ("Resize", 10, [IMAGE, SCALES], {"mode": "linear"}),
    ("RoiAlign", 10, [IMAGE, np.array([[0, 0, 4, 4], [1, 1, 6, 5]], np.float32), np.array([0, 1])],
     {"output_height": 2, "output_width": 2, "sampling_ratio": 2}),
    *(("GridSample", 16, [floats(1, 2, 4, 4), floats(1, 3, 3, 2)], {"mode": mode}) for mode in ("bilinear", "bicubic")),
    ("ConvTranspose", 11, [floats(1, 4, 5, 5), floats(4, 3, 3, 3), floats(6)], {"group": 2, "strides": [2, 1]}),
    ("ConvTranspose", 11, [floats(1, 4, 5), floats(4, 2, 3), floats(2)], {"pads": [1, 0], "output_padding": [1],
                                                                        "strides": [2]}),
    ("Scatter", 9, [np.zeros((3, 3), np.float32), np.array([[1, 0, 2]]), floats(1, 3)], {}),
    *(("GatherElements", 13, [floats(*shape), np.array(at)], {"axis": axis}) for shape, at, axis in (
        ((2, 40), [[39, -1, 0], [1, 2, 3]], 1), ((40, 3), [[39, 0, -40]], 0), ((2, 3, 40), [[[5]], [[39]]], -1))),
    ("DequantizeLinear", 13, [np.array([[1, 2], [3, 4]], np.uint8), np.array([0.1, 0.2], np.float32),
                              np.array([1, 2], np.uint8)], {"axis": 1}),
    ("CumSum", 14, [floats(2, 5), np.array([1])], {"reverse": 1}),
    ("Unique", 11, [np.array([2, 1, 1, 3, 2], np.float32)], {"sorted": 0}),
    ("OneHot", 13, [np.array([[-1, 1], [3, 9]]), np.array([4]), np.array([0.5, 5], np.float32)], {"axis": 1}),
    ("LSTM", 14, [floats(4, 2, 3), floats(1, 20, 3), floats(1, 20, 5), floats(1, 40)], {"hidden_size": 5}),
    ("GRU", 14, [floats(4, 2, 3), floats(1, 15, 3), floats(1, 15, 5), floats(1, 30)], {"hidden_size": 5}),
    ("RNN", 14, [floats(4, 2, 3), floats(1, 5, 3), floats(1, 5, 5), floats(1, 10)], {"hidden_size": 5}),
]  # fmt: skip


def skip_where_onnx_runtime_is_wrong(op):
    since = RIGHT_SINCE.get(op)
    if since and Version(ort.__version__) < Version(since):
        pytest.skip(f"ONNX Runtime {ort.__version__} cannot be the judge of {op}: {since} is the first that can")


@pytest.mark.parametrize(("op", "opset", "arrays", "attributes"), CASES, ids=lambda value: str(value)[:40])
def test_a_corrected_operator_agrees_with_onnx_runtime(one_node, op, opset, arrays, attributes):
    skip_where_onnx_runtime_is_wrong(op)
    model = one_node(op, arrays, opset=opset, **attributes)
    feed = {f"i{index}": array for index, array in enumerate(arrays)}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, feed)[0]
    got = make_evaluator(model).run(None, feed)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    wide = make_evaluator(model, dtype="float64").run(None, feed)[0]
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, expected, rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize("keep_order", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_unique_keeps_the_order_of_the_input_where_it_is_to(make_model, axis, keep_order, count):
    attributes = {"sorted": int(not keep_order), **({} if axis is None else {"axis": axis})}
    names = ["y", "first", "inverse", "counts"][:count]
    x = np.array([[3, 1, 3, 0], [2, 5, 2, 0], [3, 1, 3, 0]], np.float32)
    kinds = [TensorProto.FLOAT, *[TensorProto.INT64] * 3]
    model = make_model(
        [helper.make_node("Unique", ["x"], names, **attributes)],
        [("x", TensorProto.FLOAT, [3, 4])],
        [(name, kind, None) for name, kind in zip(names, kinds, strict=False)],
        opset=11,
    )
    expected = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for got, wanted in zip(make_evaluator(model).run(None, {"x": x}), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype


def test_each_operator_that_is_corrected_has_its_class_in_every_opset():
    """Classes are named by text, and imported for the operators that a model has."""
    operators = {schema.name for schema in defs.get_all_schemas_with_history() if not schema.domain}
    nodes = [helper.make_node(name, [], []) for name in sorted(operators)]
    for opset in range(7, defs.onnx_opset_version() + 1):
        corrected = corrections(nodes, {"": opset})
        assert {item.__name__ for item in corrected} <= operators
        assert len(corrected) > 20
