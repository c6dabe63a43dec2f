"""What ONNX Runtime did wrongly with functions that a model brings along."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import parser

from truth.build import Array, Net
from truth.history.issue import Answer, Case, Issue, Right, onnxruntime

_RUNTIME = "ONNX Runtime: functions"
_HEAD = """<ir_version: 8, opset_import: ["" : 14, "own" : 1]>"""


def _case(text: str, right: Right, **more: Array) -> Case:
    """Return the case of a model in ONNX's own notation; its input x is drawn, others are given."""
    feed: Mapping[str, Array] = {"x": np.asarray(np.random.default_rng(0).standard_normal((2, 3)), np.float32), **more}
    model = parser.parse_model(_HEAD + text)
    for node in model.graph.node:
        node.name = node.output[0]
    return Case(Net(model, feed), right)


def _attribute_handed_on() -> Case:
    """A function hands its attribute to another under another name."""
    text = """
    model (float[2,3] x) => (float[2,3] y) { h = Tanh(x)  s = own.Outer <much = 2.0> (h)  y = Relu(s) }
    <opset_import: ["" : 14], domain: "own">
    Inner <what> (a) => (b) { c = Constant <value_float: float = @what> ()  b = Add(a, c) }
    <opset_import: ["" : 14, "own" : 1], domain: "own">
    Outer <much> (a) => (b) { b = own.Inner <what: float = @much> (a) }
    """
    return _case(text, lambda feed: [np.maximum(np.tanh(feed["x"]) + 2, 0)])


def _attribute_renamed() -> Case:
    text = """
    model (float[2,3] x) => (float[2,3] y) { h = Tanh(x)  s = own.Leaky <slope = 0.5> (h)  y = Neg(s) }
    <opset_import: ["" : 14], domain: "own">
    Leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }
    """

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = np.tanh(feed["x"])
        return [-np.where(made < 0, made / 2, made)]

    return _case(text, right)


def _weight_in_branch() -> Case:
    """The branches of an If in a function have a weight each."""
    text = """
    model (float[2,3] x, bool c) => (float[2,3] y) { h = Tanh(x)  s = own.Choose (h, c)  y = Relu(s) }
    <opset_import: ["" : 14], domain: "own">
    Choose (a, k) => (b) {
      b = If (k) <
        then_branch = then () => (float[2,3] p) <float[1] two = {2.0}> { p = Mul(a, two) },
        else_branch = else () => (float[2,3] q) <float[1] three = {3.0}> { q = Mul(a, three) }
      >
    }
    """
    return _case(text, lambda feed: [2 * np.maximum(np.tanh(feed["x"]), 0)], c=np.array(True))


FUNCTIONS = (
    Issue(
        "an attribute that a function hands on", _RUNTIME, "onnxruntime#12506",
        "the function inside is given 0 in place of the attribute",
        _attribute_handed_on, onnxruntime("1.12.1"), onnxruntime("1.15.1"), Answer(("s",)),
    ),
    Issue(
        "an attribute under another name", _RUNTIME, "onnxruntime#12445",
        "LeakyRelu is given slope in place of alpha; the model cannot run",
        _attribute_renamed, onnxruntime("1.12.1"), onnxruntime("1.15.1"), Answer(("s",), ("slope",)),
        first="status 3: ONNX's operators take no attribute under another name: the reference failed as well",
    ),
    Issue(
        "weights in branches of a function", _RUNTIME, "onnxruntime#12491",
        "who reads a branch's weight is given another name than the weight; the model cannot run",
        _weight_in_branch, onnxruntime("1.12.1"), onnxruntime("1.15.1"), Answer(("s",)),
    ),
)  # fmt: skip
