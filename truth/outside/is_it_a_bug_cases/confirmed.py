"""Reports that were confirmed: OpenVINO was wrong, or refused a model that the standard allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truth.build import Array, Graph
from truth.history.issue import Case, case, typed
from truth.outside.is_it_a_bug_cases.case import RECORDED, Report

_INT16, _INT32, _INT64 = 5, 6, 7
#: OpenVINO's own operators have a domain of their own in ONNX files.
_OPENVINO = "org.openvinotoolkit"


def _reduce_mean() -> Case:
    g = Graph("reduce_mean", opset=18)
    g.node("ReduceMean", [g.input("x", g.normal(2, 3, 4)), g.ints("axes", 1)], "y", keepdims=1)
    g.output("y")
    return case(g, lambda feed: [feed["x"].mean(1, keepdims=True)])


def _deformable() -> Case:
    g = Graph("deformable", opset=11)
    x = g.input("x", g.normal(1, 2, 5, 5))
    offsets = g.input("offsets", np.zeros((1, 18, 3, 3), np.float32))
    mask = g.input("mask", np.full((1, 9, 3, 3), 0.5, np.float32))
    weights = g.normal(2, 2, 3, 3)
    g.node(
        "DeformableConv2D", [x, offsets, g.const("w", weights), mask], "y", domain=_OPENVINO, kernel_shape=[3, 3],
        pads=[0, 0, 0, 0], strides=[1, 1], group=1, deformable_groups=1,
    )  # fmt: skip
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        windows = np.lib.stride_tricks.sliding_window_view(feed["x"], (3, 3), axis=(2, 3))
        return [np.asarray(0.5 * np.einsum("ncyxij,ocij->noyx", windows, weights), np.float32)]

    return case(g, right)


def _sum_and_bias() -> Case:
    g = Graph("sum_and_bias", opset=13)
    product = g.node("Mul", [g.input("x", g.normal(1, 1536, 4)), g.const("w", g.rng.random((1536, 4)))], "m")
    g.node("ReduceSum", [product, g.ints("axes", -1)], "s", keepdims=0)
    g.node("Add", ["s", g.const("b", g.rng.random(1536))], "y")
    g.output("y")
    return case(g)


def _range() -> Case:
    g = Graph("range", opset=11)
    names = [g.input(name, np.array([value], np.float32)) for name, value in (("a", 1), ("b", 5), ("step", 2))]
    g.node("Range", names, "y")
    g.output("y")
    return case(g, lambda feed: [np.array([1, 3], np.float32)])


def _trilu() -> Case:
    g = Graph("trilu", opset=14)
    x = g.input("x", np.arange(20, dtype=np.int64).reshape(4, 5))
    g.node("Trilu", [x, g.input("k", np.array([1], np.int64))], "y")
    typed(g, "y", _INT64)
    return case(g, lambda feed: [np.triu(feed["x"], 1)])


def _power_average() -> Case:
    """Return an average over windows of powers, as an Lp pool with an odd order becomes."""
    g = Graph("power_average", opset=17)
    g.node("Pow", [g.input("x", g.normal(1, 3, 7, 7)), g.const("p", 1.5)], "powers")
    g.node("AveragePool", ["powers"], "a", kernel_shape=[2, 2], strides=[2, 2])
    g.node("Relu", [g.node("Abs", ["a"], "size")], "positive")
    g.node("Mul", [g.node("Sign", ["a"], "sign"), "positive"], "signed")
    g.node("Pow", [g.node("Mul", ["signed", g.const("four", 4.0)], "sums"), g.const("root", 1 / 1.5)], "y")
    g.output("y")
    return case(g, _power_average_right)


def _power_average_right(feed: Mapping[str, Array]) -> list[Array]:
    with np.errstate(invalid="ignore"):
        powers = feed["x"].astype(np.float64) ** 1.5
        parts = np.lib.stride_tricks.sliding_window_view(powers, (2, 2), axis=(2, 3))[:, :, ::2, ::2]
        mean = parts.mean((4, 5))
        return [np.asarray((np.sign(mean) * np.abs(mean) * 4) ** (1 / 1.5), np.float32)]


def _shape() -> Case:
    g = Graph("shape", opset=15)
    g.node("Shape", [g.input("x", g.normal(3, 4, 5))], "y", start=-1)
    typed(g, "y", _INT64)
    return case(g, lambda feed: [np.array([5])])


def _resize_int16() -> Case:
    g = Graph("resize_int16", opset=13)
    x = g.input("x", np.arange(24, dtype=np.int16).reshape(1, 4, 2, 3))
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    g.node("Resize", [x, "", g.const("scales", [1.0, 1.0, 2.0, 2.0])], "y", **attributes)
    typed(g, "y", _INT16)
    return case(g, lambda feed: [feed["x"].repeat(2, 2).repeat(2, 3)])


def _mean_of_integers() -> Case:
    g = Graph("mean_of_integers", opset=13)
    x = g.input("x", np.random.default_rng(0).integers(0, 2, (1, 11, 1, 7)).astype(np.int32))
    g.node("ReduceMean", [x], "y", axes=[1, 2], keepdims=0)
    typed(g, "y", _INT32)
    return case(g, lambda feed: [feed["x"].sum((1, 2)) // 11])


def _matmul() -> Case:
    g = Graph("matmul", opset=11)
    g.node("MatMul", [g.input("x", g.normal(18, 5, 1)), g.const("w", g.normal(18, 1, 80))], "y")
    g.output("y")
    return case(g)


def _arg_min() -> Case:
    g = Graph("arg_min", opset=11)
    x = np.full(16, -1, np.int32)
    x[:1] = 0
    g.node("ArgMin", [g.input("x", x)], "y", axis=0, keepdims=1)
    typed(g, "y", _INT64)
    return case(g, lambda feed: [np.array([1])])


def _gather_nd() -> Case:
    g = Graph("gather_nd", opset=12)
    indices = np.random.default_rng(0).integers(0, 20, (1, 4, 4, 1, 1))
    g.node("GatherND", [g.input("x", g.normal(1, 4, 4, 20)), g.input("i", indices)], "y", batch_dims=3)
    g.output("y")
    return case(g, lambda feed: [np.take_along_axis(feed["x"], feed["i"][..., 0], 3)])


CONFIRMED = (
    Report(
        25169, True, "ReduceMean does not read the axes, which are an input since opset 18", _reduce_mean, "2024.1.0",
        "FOUND at ReduceMean: another shape",
    ),
    Report(
        24346, True, "the mask of a deformable convolution is ignored", _deformable, "2024.1.0",
        "FAILED beside NumPy's outputs: no other runtime has the operator", reference="",
    ),
    Report(
        23616, True, "a product summed over four, plus a bias, is wrong", _sum_and_bias, "2024.0.0",
        "FAILED, or FOUND at the sum or what is fused with it",
    ),
    Report(
        21178, True, "Range refuses start, limit and step with one element each", _range, "2023.2.0",
        "FOUND: OpenVINO cannot run Range",
    ),
    Report(
        21172, True, "Trilu refuses k with one element", _trilu, "2023.2.0", "FOUND: OpenVINO cannot run Trilu",
    ),
    Report(
        21044, True, "an Lp pool of odd order is 0 where it has to be NaN", _power_average, "2023.2.0",
        "FAILED with --nan equal, or FOUND at Relu", words=("--nan", "equal"),
    ),
    Report(
        20976, True, "Shape ignores `start`", _shape, "2023.2.0", "FOUND at Shape: another shape",
    ),
    Report(
        20838, True, "an upsampling of int16 is refused", _resize_int16, "2023.2.0",
        "FOUND: OpenVINO cannot run Resize", reference="onnx",
    ),
    Report(
        20815, True, "the mean of integers is rounded up", _mean_of_integers, "2023.1.0", "FOUND at ReduceMean",
    ),
    Report(
        15819, True, "a batch of matrix products becomes one product", _matmul, "2022.3.0",
        "FAILED: another shape", how=RECORDED,
    ),
    Report(
        13491, True, "ArgMin returns a later one of equal elements", _arg_min, "2023.2.0",
        "FAILED, or FOUND at ArgMin: the standard asks for the first",
    ),
    Report(
        7379, True, "GatherND with batch_dims=3 makes another shape", _gather_nd, "2021.4.2",
        "FAILED: another shape", how=RECORDED,
    ),
)  # fmt: skip
