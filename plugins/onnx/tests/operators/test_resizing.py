"""Resize and Pad of the reference evaluator agree with ONNX Runtime over their attributes, and with numbers by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from onnx import TensorProto, helper

from polycmp_onnx.reference import make_evaluator

RNG = np.random.default_rng(0)
IMAGE, MATRIX = RNG.standard_normal((1, 2, 5, 7)).astype(np.float32), RNG.standard_normal((4, 5)).astype(np.float32)
GROWS, SHRINKS, BOTH = [1.0, 1.0, 1.83, 2.37], [1.0, 1.0, 0.61, 0.43], [1.0, 1.0, 2.21, 0.57]
MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
ROI = np.array([0, 0, 0.13, 0.27, 1, 1, 0.91, 0.79], np.float32)
INTERPOLATIONS = [
    *({"mode": "nearest", "nearest_mode": name}
      for name in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
    {"mode": "linear"},
    {"mode": "cubic"},
    {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
]  # fmt: skip


def model(op, opset, arrays, **attributes):
    """A model of one operator; an input of None is left out."""
    given = [(f"i{place}", array) for place, array in enumerate(arrays) if array is not None]
    names = [f"i{place}" if array is not None else "" for place, array in enumerate(arrays)]
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(item.dtype), item.shape)
        for name, item in given
    ]
    made = helper.make_tensor_value_info("y", values[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], op, values, [made])
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), dict(given)


def agrees(op, opset, arrays, **attributes):
    """Have ONNX Runtime and the evaluator compute the same, the latter in float64, too."""
    ort = pytest.importorskip("onnxruntime")
    made, feed = model(op, opset, arrays, **attributes)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    expected = ort.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
        None, feed
    )[0]
    got = make_evaluator(made).run(None, feed)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    if expected.dtype == np.float32:
        wide = make_evaluator(made, dtype="float64").run(None, feed)[0]
        np.testing.assert_allclose(wide, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", INTERPOLATIONS, ids=lambda how: " ".join(map(str, how.values())))
def test_resize_by_scales_that_give_no_whole_size(mode, how):
    for opset, scales in product((11, 13, 19), (GROWS, SHRINKS, BOTH)):
        roi = ROI if mode == "tf_crop_and_resize" else np.zeros(0, np.float32)
        arrays = [IMAGE, roi, np.array(scales, np.float32)]
        agrees("Resize", opset, arrays, coordinate_transformation_mode=mode, extrapolation_value=7.0, **how)


@pytest.mark.parametrize("mode", ("half_pixel", "pytorch_half_pixel", "asymmetric"))
@pytest.mark.parametrize("nearest", ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
def test_a_position_half_way_between_two_elements_takes_the_one_that_float32_does(mode, nearest):
    """With a scale of 2.3 one column of 13 lies at 4.5: float64 took its other neighbour, and a right file failed."""
    for scales in ([1.0, 1.0, 1.7, 2.3], [1.0, 1.0, 2.1, 3.1], [1.0, 1.0, 0.7, 0.3]):
        arrays = [IMAGE, None, np.array(scales, np.float32)]
        how = {"coordinate_transformation_mode": mode, "nearest_mode": nearest}
        agrees("Resize", 19, arrays, mode="nearest", **how)


@pytest.mark.parametrize("nearest", ("round_prefer_floor", "round_prefer_ceil"))
@pytest.mark.parametrize("mode", ("half_pixel", "pytorch_half_pixel", "asymmetric"))
def test_a_position_half_way_by_the_sizes_is_half_way(mode, nearest):
    """onnxruntime#28291: from 20 to 6 the fourth lies at 14.5, which float32 has below that, and took the 14th."""
    how = {"mode": "nearest", "coordinate_transformation_mode": mode, "nearest_mode": nearest}
    half, prefers_ceil = Fraction(1, 2), nearest == "round_prefer_ceil"
    for old, new in ((20, 6), (22, 12), (11, 30), (7, 38), (25, 34), (13, 22), (10, 4)):
        row = np.arange(old, dtype=np.float32).reshape(1, 1, 1, old)
        made, feed = model("Resize", 13, [row, None, None, np.array([1, 1, 1, new])], **how)
        shift = 0 if mode == "asymmetric" else half
        at = [(place + shift) * Fraction(old, new) - shift for place in range(new)]
        expected = [math.floor(each + half) if prefers_ceil else math.ceil(each - half) for each in at]
        for dtype in ("", "float64"):
            got = make_evaluator(made, dtype=dtype).run(None, feed)[0]
            assert got.ravel().tolist() == np.clip(expected, 0, old - 1).tolist()


@pytest.mark.parametrize("how", INTERPOLATIONS, ids=lambda how: " ".join(map(str, how.values())))
def test_resize_to_sizes(how):
    for opset, mode in product((13, 19), MODES):
        roi = ROI if mode == "tf_crop_and_resize" else None
        agrees("Resize", opset, [IMAGE, roi, None, np.array([1, 2, 8, 5])], coordinate_transformation_mode=mode, **how)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [SHRINKS, BOTH, [1.0, 1.0, 0.31, 0.2]])
def test_resize_with_a_kernel_that_grows_where_the_axis_shrinks(mode, scales):
    agrees("Resize", 18, [IMAGE, None, np.array(scales, np.float32)], mode=mode, antialias=1, exclude_outside=1)


def test_resize_with_a_symmetric_region():
    for mode in ("linear", "cubic"):
        arrays = [IMAGE, None, np.array(GROWS, np.float32)]
        agrees("Resize", 19, arrays, mode=mode, coordinate_transformation_mode="half_pixel_symmetric")


def resized(*arrays, **attributes):
    made, feed = model("Resize", 18, [IMAGE, None, *arrays], mode="linear", **attributes)
    return make_evaluator(made).run(None, feed)[0]


def test_resize_of_some_axes():
    """Releases of ONNX Runtime up to 1.22 end the process on axes with sizes, so they are no judge."""
    every = resized(None, np.array([1, 2, 9, 6]))
    for axes, sizes in (([2, 3], [9, 6]), ([-2, -1], [9, 6]), ([3, 2], [6, 9])):
        np.testing.assert_array_equal(resized(None, np.array(sizes), axes=axes), every)
    scales = np.array([1.83, 0.57], np.float32)
    np.testing.assert_array_equal(
        resized(scales, axes=[-2, -1]), resized(np.concatenate([np.ones(2, np.float32), scales]))
    )


def test_resize_keeps_the_proportions():
    smaller = resized(None, np.array([9, 6]), axes=[2, 3], keep_aspect_ratio_policy="not_larger")
    assert smaller.shape == (1, 2, 4, 6)  # 6 / 7 of 5 and of 7
    np.testing.assert_allclose(smaller, resized(np.array([1, 1, 6 / 7, 6 / 7], np.float32)), rtol=1e-5, atol=1e-6)
    larger = resized(None, np.array([9, 6]), axes=[2, 3], keep_aspect_ratio_policy="not_smaller")
    assert larger.shape == (1, 2, 9, 13)  # 9 / 5 of 7 are 12.6
    scaled = resized(np.array([1, 1, 1.8, 1.8], np.float32))
    np.testing.assert_allclose(larger[..., :12], scaled, rtol=1e-5, atol=1e-5)


def test_resize_by_hand():
    line = np.array([0, 10, 20, 30, 40], np.float32)  # 5 times 1.7 are 8.5: 8 elements, 40 / 7 apart
    made, feed = model(
        "Resize", 13, [line, None, np.array([1.7], np.float32)], mode="linear",
        coordinate_transformation_mode="align_corners",
    )  # fmt: skip
    np.testing.assert_allclose(make_evaluator(made).run(None, feed)[0], np.arange(8) * 40 / 7, rtol=1e-6)
    tenth, feed = model("Resize", 13, [np.arange(10, dtype=np.float32), None, np.array([0.7], np.float32)])
    assert make_evaluator(tenth).run(None, feed)[0].shape == (7,)  # as ONNX infers it, in float32


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_whole_numbers_stay_what_they_are_where_the_nearest_is_taken(dtype):
    arrays = [np.arange(70).reshape(1, 2, 5, 7).astype(dtype), None, np.array(GROWS, np.float32)]
    agrees("Resize", 13, arrays, mode="nearest")


PADS = ([1, 2, 0, 1], [-1, 0, 0, -2], [-1, 2, 1, -1], [2, -2, -1, 2], [0, -5, 0, 0], [-1, -1, -1, -1])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", PADS, ids=str)
def test_pads_may_take_away(mode, pads):
    if mode != "constant" and -5 in pads:
        pytest.skip("nothing is left to repeat")
    for opset in (11, 13, 18, 21):
        agrees("Pad", opset, [MATRIX, np.array(pads)], mode=mode)
    agrees("Pad", 18, [MATRIX, np.array(pads[1::2]), None, np.array([-1])], mode=mode)
    agrees("Pad", 10, [MATRIX], pads=pads, mode=mode)


def test_pads_have_a_value():
    agrees("Pad", 13, [MATRIX, np.array([-1, 1, 2, -1]), np.array(3, np.float32)])
    agrees("Pad", 10, [MATRIX], pads=[-1, 1, 2, -1], value=3.0)
    agrees("Pad", 13, [np.arange(6), np.array([-2, 3]), np.array(9)])


def test_pads_wrap_around():
    agrees("Pad", 19, [MATRIX, np.array([-1, 2, 1, -1])], mode="wrap")


def test_a_model_with_negative_pads_runs_on_the_reference(polycmp, tmp_path):
    import onnx

    nodes = [helper.make_node("Pad", ["x", "pads"], ["y"], "crop")]
    values = [helper.make_tensor_value_info(*item) for item in (("x", TensorProto.FLOAT, [4, 5]), ("y", 1, [3, 4]))]
    held = [helper.make_tensor("pads", TensorProto.INT64, [4], [-1, 0, 0, -1])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), "m.onnx")
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx").status == 0
