"""Reports that were confirmed: OpenVINO was wrong, or refused a model that the standard allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truth.build import Array, Graph
from truth.history.issue import Case, case, typed
from truth.history.issues.openvino import (
    arg_min,
    mean_of_integers,
    power_average,
    range_of_elements,
    shape_from_the_end,
    sum_and_bias,
    trilu,
)
from truth.outside.is_it_a_bug_cases.case import SCRIPT, Report
from truth.outside.is_it_a_bug_cases.scripts import CORE_GONE, GERMAN_CACHE, INTERFACE, OLD_INTERFACE, THREADS

_INT16, _INT64 = 5, 7
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


def _resize_int16() -> Case:
    g = Graph("resize_int16", opset=13)
    x = g.input("x", np.arange(24, dtype=np.int16).reshape(1, 4, 2, 3))
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    g.node("Resize", [x, "", g.const("scales", [1.0, 1.0, 2.0, 2.0])], "y", **attributes)
    typed(g, "y", _INT16)
    return case(g, lambda feed: [feed["x"].repeat(2, 2).repeat(2, 3)])


def _matmul() -> Case:
    g = Graph("matmul", opset=11)
    g.node("MatMul", [g.input("x", g.normal(18, 5, 1)), g.const("w", g.normal(18, 1, 80))], "y")
    g.output("y")
    return case(g)


def _gather_nd() -> Case:
    g = Graph("gather_nd", opset=12)
    indices = np.random.default_rng(0).integers(0, 20, (1, 4, 4, 1, 1))
    g.node("GatherND", [g.input("x", g.normal(1, 4, 4, 20)), g.input("i", indices)], "y", batch_dims=3)
    g.output("y")
    return case(g, lambda feed: [np.take_along_axis(feed["x"], feed["i"][..., 0], 3)])


def _relu() -> Case:
    g = Graph("relu", opset=13)
    g.node("Relu", [g.input("x", g.normal(2, 3))], "y")
    g.output("y")
    return case(g)


def _encoder() -> Case:
    g = Graph("encoder", opset=17)
    x = g.input("x", g.normal(1, 4, 8))
    normed = g.node("LayerNormalization", [x, g.const("scale", np.ones(8)), g.const("shift", np.zeros(8))], "n")
    hidden = g.linear(normed, "l", 8, 16)
    half = g.node("Mul", [hidden, g.const("half", 0.5)], "halved")
    error = g.node("Erf", [g.node("Mul", [hidden, g.const("root", 0.5**0.5)], "scaled")], "e")
    gelu = g.node("Mul", [half, g.node("Add", [error, g.const("one", 1.0)], "plus")], "gelu")
    g.node("Add", [g.linear(gelu, "m", 16, 8), x], "y")
    g.output("y")
    return case(g)


def _no_axes() -> Case:
    g = Graph("no_axes", opset=13)
    ends = [g.const(name, value, np.int64) for name, value in (("first", 0), ("end", 6), ("step", 1))]
    numbers = g.node("Range", ends, "numbers")
    zero = g.ints("zero", 0)
    axes = g.node("Slice", [g.ints("some", 1), zero, zero], "axes")
    g.node("Cast", [g.node("Unsqueeze", [numbers, axes], "u")], "f", to=1)
    g.node("Add", ["f", g.input("x", g.normal(6))], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"] + np.arange(6, dtype=np.float32)])


def _read_twice() -> Case:
    g = Graph("read_twice", opset=11)
    g.node("NonZero", [g.node("Relu", [g.input("x", g.normal(3, 4))], "r")], "at")
    g.node("Transpose", ["at"], "rows", perm=[1, 0])
    g.node("Cast", ["at"], "y", to=1)
    typed(g, "rows", _INT64)
    g.output("y")
    return case(g)


def _open() -> Case:
    g = Graph("open", opset=13)
    x = g.input("x", g.normal(1, 3, 8, 8), [1, 3, "h", "w"])
    g.node("Sigmoid", [g.conv(x, "c", 3, 4)], "y")
    g.output("y")
    return case(g)


def _concat() -> Case:
    g = Graph("concat", opset=11)
    x = g.input("x", g.normal(2, 3, 4), ["n", 3, 4])
    first = g.node("Slice", [g.node("Shape", [x], "s"), g.ints("zero", 0), g.ints("one", 1)], "first")
    shape = g.node("Concat", [first, g.ints("rest", -1)], "shape", axis=-1)
    g.node("Reshape", [x, shape], "y")
    g.output("y")
    return case(g)


def _clip() -> Case:
    g = Graph("clip", opset=11)
    x = g.input("x", g.normal(2, 3))
    g.node("Mul", [g.node("Clip", [x, g.const("low", 1.0), g.const("high", 1.0)], "c"), x], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"]])


CONFIRMED = (
    Report(
        25169, True, "ReduceMean does not read the axes, which are an input since opset 18", _reduce_mean, "2024.1.0",
        "FOUND at ReduceMean: another shape",
    ),
    Report(
        24509, True, "several models in several threads end the process, or hang it, once their parent has run them",
        _encoder, "2023.3.0", "FOUND: OpenVINO cannot run the model", how=SCRIPT, code=THREADS,
    ),
    Report(
        24370, True, "a model from the cache computes something else where numbers are written with a comma",
        _encoder, "2024.1.0", "FAILED: other numbers once the compiled model comes from the cache",
        how=SCRIPT, code=GERMAN_CACHE,
    ),
    Report(
        24346, True, "the mask of a deformable convolution is ignored", _deformable, "2024.1.0",
        "FAILED beside NumPy's outputs: no other runtime has the operator", reference="",
    ),
    Report(
        23616, True, "a product summed over four, plus a bias, is wrong", sum_and_bias, "2024.0.0",
        "FAILED, or FOUND at the sum or what is fused with it",
    ),
    Report(
        22338, True, "a model cannot be compiled for HETERO where compiled models are cached", _relu, "2023.3.0",
        "FOUND: OpenVINO cannot run the model", options="device=HETERO:CPU,cache_dir={folder}/cache",
    ),
    Report(
        21178, True, "Range refuses start, limit and step with one element each", range_of_elements, "2023.2.0",
        "FOUND: OpenVINO cannot run Range",
    ),
    Report(
        21172, True, "Trilu refuses k with one element", trilu, "2023.2.0", "FOUND: OpenVINO cannot run Trilu",
    ),
    Report(
        21044, True, "an Lp pool of odd order is 0 where it has to be NaN", power_average, "2023.2.0",
        "FAILED with --nan equal, or FOUND at Relu", words=("--nan", "equal"),
    ),
    Report(
        20976, True, "Shape ignores `start`", shape_from_the_end, "2023.2.0", "FOUND at Shape: another shape",
    ),
    Report(
        20838, True, "an upsampling of int16 is refused", _resize_int16, "2023.2.0",
        "FOUND: OpenVINO cannot run Resize", reference="onnx",
    ),
    Report(
        20815, True, "the mean of integers is rounded up", mean_of_integers, "2023.1.0", "FOUND at ReduceMean",
    ),
    Report(
        16468, True, "Unsqueeze refuses axes of no elements", _no_axes, "2023.1.0",
        "FOUND: OpenVINO cannot run Unsqueeze",
    ),
    Report(
        15819, True, "a batch of matrix products becomes one product", _matmul, "2022.3.0",
        "FAILED: another shape", how=SCRIPT, code=INTERFACE,
    ),
    Report(
        13491, True, "ArgMin returns a later one of equal elements", arg_min, "2023.2.0",
        "FAILED, or FOUND at ArgMin: the standard asks for the first",
    ),
    Report(
        11970, True, "NonZero refuses to be read twice", _read_twice, "2022.1.0",
        "FOUND: OpenVINO cannot run NonZero and what reads it", how=SCRIPT, code=INTERFACE,
    ),
    Report(
        11918, True, "a model of open dimensions does not run once nothing but the compiled model is kept", _open,
        "2022.1.0", "FOUND: OpenVINO cannot run the model", how=SCRIPT, code=CORE_GONE,
    ),
    Report(
        11501, True, "Concat of a shape refuses axis -1", _concat, "2022.1.0",
        "FOUND: OpenVINO cannot run Concat and what reads it", how=SCRIPT, code=INTERFACE,
    ),
    Report(
        7379, True, "GatherND with batch_dims=3 makes another shape", _gather_nd, "2021.4.2",
        "FAILED: another shape", how=SCRIPT, code=OLD_INTERFACE,
    ),
    Report(
        5087, True, "Clip refuses bounds that are equal", _clip, "2021.3.0", "FOUND: OpenVINO cannot run Clip",
        how=SCRIPT, code=OLD_INTERFACE,
    ),
)  # fmt: skip
