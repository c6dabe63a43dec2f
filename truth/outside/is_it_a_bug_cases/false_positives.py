"""Reports that were closed as no bug: an invalid model, a limitation, rounding, or a mistake in the call."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from truth.build import Graph
from truth.history.issue import Case, case, typed
from truth.outside.is_it_a_bug_cases.case import IR, NOTHING, Report

_ML, _MICROSOFT = "ai.onnx.ml", "com.microsoft"


def _branches() -> Case:
    g = Graph("branches", opset=13)
    x, condition = g.input("x", g.normal(5), ["n"]), g.input("c", np.array(True))
    zero, two = g.ints("zero", 0), g.ints("two", 2)
    there = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("part", "wider")]
    parts = helper.make_graph([helper.make_node("Slice", [x, zero, two, zero], ["part"])], "then", [], there[:1])
    wider = helper.make_graph([helper.make_node("Unsqueeze", [x, zero], ["wider"])], "else", [], there[1:])
    g.node("If", [condition], "y", then_branch=parts, else_branch=wider)
    g.output("y")
    return case(g)


def _small() -> Case:
    g = Graph("small", opset=13)
    hidden = g.node("Relu", [g.linear(g.input("x", g.normal(2, 8)), "l", 8, 8)], "h")
    g.node("Sigmoid", [g.linear(hidden, "m", 8, 4)], "y")
    g.output("y")
    return case(g)


def _convolutions() -> Case:
    g = Graph("convolutions", opset=13)
    x = g.input("x", g.normal(1, 3, 16, 16))
    first = g.node("Relu", [g.conv(x, "c", 3, 16)], "r")
    second = g.node("Relu", [g.conv(first, "d", 16, 8, strides=[2, 2])], "s")
    g.node("Softmax", [g.linear(g.node("Flatten", [second], "f"), "l", 512, 10)], "y")
    g.output("y")
    return case(g)


def _wide() -> Case:
    g = Graph("wide", opset=13)
    g.node("MatMul", [g.input("x", g.normal(4, 4096)), g.weight("w", 4096, 64)], "y")
    g.output("y")
    return case(g)


def _one_of_two() -> Case:
    """Return a sum of two inputs, of which only one is fed."""
    g = Graph("one_of_two", opset=13)
    g.node("Add", [g.input("x", g.normal(2, 3)), g.input("z", g.normal(2, 3))], "y")
    g.output("y")
    del g.feed["z"]
    return case(g)


def _trees() -> Case:
    g = Graph("trees", opset=13)
    g.node(
        "TreeEnsembleClassifier", [g.input("x", g.normal(3, 2))], ["label", "y"], domain=_ML,
        class_ids=[0, 1], class_nodeids=[1, 2], class_treeids=[0, 0], class_weights=[1.0, 1.0],
        classlabels_int64s=[0, 1], nodes_falsenodeids=[2, 0, 0], nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids=[0, 1, 2], nodes_treeids=[0, 0, 0],
        nodes_truenodeids=[1, 0, 0], nodes_values=[0.0, 0.0, 0.0],
    )  # fmt: skip
    g.output("y")
    return case(g)


def _window() -> Case:
    g = Graph("window", opset=12)
    x = g.input("x", g.normal(5, 6, 2, 4))
    g.node("MaxPool", [x], "y", kernel_shape=[3, 3], strides=[3, 3], ceil_mode=1)
    g.output("y")
    return case(g)


def _remainder() -> Case:
    g = Graph("remainder", opset=13)
    x = g.input("x", np.array([1, 0, 1, 1, 0, 1]))
    g.node("Mod", [x, g.input("d", np.array([1, 0, 0, 1, 1, 0]))], "y", fmod=1)
    typed(g, "y", TensorProto.INT64)
    return case(g)


def _convolution() -> Case:
    g = Graph("convolution", opset=13)
    g.node("Conv", [g.input("x", g.normal(1, 3, 8, 8)), g.weight("w", 2, 3, 5, 5, scale=1.0)], "y")
    g.output("y")
    return case(g)


def _strings() -> Case:
    g = Graph("strings", opset=13)
    x = g.input("x", np.array(["a", "b", "a"], dtype=object))
    g.node("LabelEncoder", [x], "y", domain=_ML, keys_strings=["a", "b"], values_floats=[1.0, 2.0])
    g.domains[_ML] = 2
    g.output("y")
    return case(g)


def _fixed_batch() -> Case:
    g = Graph("fixed_batch", opset=13)
    x = g.input("x", g.normal(2, 3, 4), ["batch", 3, 4])
    flat = g.node("Reshape", [g.node("Relu", [x], "r"), g.ints("shape", 1, 12)], "flat")
    g.output(g.linear(flat, "y", 12, 4))
    return case(g)


def _squeezed_batch() -> Case:
    g = Graph("squeezed_batch", opset=13)
    x = g.input("x", g.normal(2, 3, 4), ["batch", 3, 4])
    g.node("Squeeze", [g.node("Relu", [x], "r"), g.ints("axes", 0)], "y")
    g.output("y")
    return case(g)


def _channels_last() -> Case:
    g = Graph("channels_last", opset=13)
    g.node("Conv", [g.input("x", g.normal(1, 16, 8, 3)), g.weight("w", 16, 3, 3, 3)], "y")
    g.output("y")
    return case(g)


def _mixed_types() -> Case:
    g = Graph("mixed_types", opset=13)
    x = g.input("x", np.array([[True, False, True]]))
    g.node("Equal", [x, g.const("one", 1, np.uint8)], "y")
    typed(g, "y", TensorProto.BOOL)
    return case(g)


def _foreign() -> Case:
    g = Graph("foreign", opset=13)
    g.node("Postprocess", [g.input("x", g.normal(4, 6))], "y", domain="custom")
    g.output("y")
    return case(g)


def _contributed() -> Case:
    g = Graph("contributed", opset=13)
    g.node("CDist", [g.input("x", g.normal(4, 6)), g.input("z", g.normal(5, 6))], "y", domain=_MICROSOFT)
    g.output("y")
    return case(g)


def _two_outputs() -> Case:
    g = Graph("two_outputs", opset=13)
    hidden = g.node("Relu", [g.linear(g.input("x", g.normal(2, 8)), "l", 8, 8)], "boxes/0")
    g.node("Sigmoid", [hidden], "scores:0")
    g.output("boxes/0", "scores:0")
    return case(g)


_WRITE = """
import openvino
openvino.save_model(openvino.Core().read_model(source), target, compress_to_fp16={half})
"""
_SAYS_NO = r"(?i)has no operator|does(n't| not) support|no implementation"

FALSE_POSITIVES = (
    Report(
        25051, False, "If with branches of another rank each is refused", _branches, "2024.1.0",
        "told: OpenVINO does not support it", (_SAYS_NO,),
    ),
    Report(
        24913, False, "there is no device `gpu`", _small, "2024.1.0",
        "told: there is no such device, and which there are; no operator is accused",
        (r"there is no device 'gpu'",), options="device=gpu",
    ),
    Report(
        24779, False, "results are not those of float32: a device's own precision is a coarser one", _convolutions,
        "2024.1.0", "PASSED, or told: the rounding of the type it calculates in", (r"bfloat16|float16|rounding",),
        options="own_precision",
    ),
    Report(
        24609, False, "an operator of one's own is not known", _foreign, "2024.1.0",
        "told: no backend has the operator", (_SAYS_NO, r"custom"),
    ),
    Report(
        24384, False, "an operator of another runtime alone is not known", _contributed, "2024.1.0",
        "told: OpenVINO has no such operator", (_SAYS_NO,),
    ),
    Report(
        22905, False, "the input is asked for of a model that has several", _one_of_two, "2023.3.0",
        "told: which input is missing; no operator is accused", (r"(?i)(missing|lacks?|no).*\bz\b",),
    ),
    Report(
        22613, False, "a product of more than 2,048 terms is off: the device's own precision", _wide, "2023.3.0",
        "PASSED, or told: the rounding of the type it calculates in", (r"bfloat16|float16|rounding",),
        options="own_precision",
    ),
    Report(
        21168, False, "TreeEnsembleClassifier is not known", _trees, "2023.2.0", "told: OpenVINO has no such operator",
        (_SAYS_NO,),
    ),
    Report(
        21067, False, "a window that is larger than the picture is refused", _window, "2023.2.0",
        "told: the window is larger than the picture", (r"(?i)kernel .*larger than the data",),
    ),
    Report(
        20898, False, "the remainder of a division by zero is another one", _remainder, "2023.2.0",
        "told: undefined by the standard", (r"(?i)(divi\w+|modulo) by (zero|0)|undefined",),
    ),
    Report(
        20700, False, "a convolution is off by 1e-3: the file holds its weights in half precision", _convolution,
        "2023.1.0", "PASSED, or told: the weights were rounded to float16", (r"(?i)half|float16",),
        how=IR, writes=_WRITE.format(half=True),
    ),
    Report(
        20540, False, "a model that reads strings is refused", _strings, "2023.1.0",
        "told: OpenVINO takes no strings", (_SAYS_NO, r"(?i)holds strings"),
    ),
    Report(
        19638, False, "a file with the batch in a constant does not run with another", _fixed_batch, "2023.1.0",
        "no backend can run it; told which shape does not fit", (r"cannot be reshaped",),
    ),
    Report(
        16491, False, "packages in the environment do not fit, and the import fails", _small, NOTHING,
        "told: what is not installed; no operator is accused", (r"which is not installed",),
    ),
    Report(
        15451, False, "a model that removes the batch does not run with two", _squeezed_batch, "2023.1.0",
        "no backend can run it; told which axis does not fit", (r"must be 1",),
    ),
    Report(
        11786, False, "a picture with the channels last does not fit the filters", _channels_last, "2023.1.0",
        "the file is invalid, or no backend can run it", (r"(?i)invalid|channel",),
    ),
    Report(
        11666, False, "Equal of a bool and a uint8 is refused", _mixed_types, "2023.1.0",
        "the file is invalid", (r"(?i)invalid|different types|same element type",),
    ),
    Report(
        11594, False, "a file of another format cannot be parsed", _small, "2023.1.0",
        "told: it is no model", (r"(?i)not an? |no ONNX|cannot be read|could not read",), model="text.onnx",
    ),
    Report(
        8722, False, "a path with a slip of the pen: unknown format", _small, "2023.1.0",
        "told: there is no such file", (r"no such model file",), model="modle.onnx",
    ),
    Report(
        2480, False, "outputs are called differently after the conversion", _two_outputs, "2023.1.0",
        "PASSED: outputs are paired", how=IR, writes=_WRITE.format(half=False),
    ),
)  # fmt: skip
