"""Kernels that were wrong, inside the bodies of Loop, If and Scan."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from truth.build import Array, Graph
from truth.history.issue import Answer, Case, Issue, case, onnxruntime

_FLOAT, _BOOL, _INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def _value(name: str, kind: int = _FLOAT, shape: list[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _node(op: str, reads: list[str], made: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, reads, [made], name=made, **attributes)


def _pool_in_loop() -> Case:
    g = Graph("pool_in_loop", opset=18)
    x = g.input("x", g.normal(1, 1, 4, 4))
    nodes = [
        _node("Identity", ["go"], "on"),
        _node("AveragePool", ["v"], "p", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, count_include_pad=1),
        _node("Mul", ["v", "half"], "w"),
    ]
    inputs = [_value("step", _INT64, []), _value("go", _BOOL, []), _value("v", _FLOAT, [1, 1, 4, 4])]
    outputs = [_value("on", _BOOL, []), _value("w", _FLOAT, [1, 1, 4, 4]), _value("p", _FLOAT, [1, 1, 2, 2])]
    body = helper.make_graph(nodes, "body", inputs, outputs, [numpy_helper.from_array(np.float32(0.5), "half")])
    g.node("Loop", [g.const("n", 2, np.int64), "", x], ["last", "pools"], body=body)
    g.node("Add", ["pools", g.const("one", [1.0])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        windows = [[feed["x"][:, :, top : top + 3, left : left + 3] for left in (0, 2)] for top in (0, 2)]
        means = np.array([[window.mean() for window in row] for row in windows], np.float32)[None, None]
        return [np.stack([means, means / 2]) + 1]

    return case(g, right)


def _shift_in_if() -> Case:
    g = Graph("shift_in_if", opset=13)
    g.input("x", np.array([1000, 255, 1, 42], np.uint64))
    g.input("n", np.array([64, 64, 3, 64], np.uint64))
    kind = TensorProto.UINT64
    shifted = helper.make_graph(
        [_node("BitShift", ["x", "n"], "s", direction="RIGHT")], "then", [], [_value("s", kind, [4])]
    )
    plain = helper.make_graph([_node("Identity", ["x"], "same")], "else", [], [_value("same", kind, [4])])
    g.node("If", [g.input("c", np.array(True))], "r", then_branch=shifted, else_branch=plain)
    g.node("Cast", ["r"], "y", to=_FLOAT)
    g.output("y")
    return case(g, lambda feed: [np.zeros(4, np.float32)])


def _min_in_scan() -> Case:
    g = Graph("min_in_scan", opset=17)
    x = g.input("x", np.array([[[1.5], [np.nan]], [[20.0], [-3.0]]], np.float32))
    start = g.const("start", np.zeros((2, 1)))
    nodes = [
        _node("Add", ["e", "state"], "a"),
        _node("Min", ["a", "bound"], "m"),
        _node("Mul", ["state", "half"], "next"),
    ]
    inputs = [_value("state", _FLOAT, [2, 1]), _value("e", _FLOAT, [2, 1])]
    held = [
        numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("bound", [10]), ("half", 0.5))
    ]
    body = helper.make_graph(nodes, "body", inputs, [_value("next", _FLOAT, [2, 1]), _value("m", _FLOAT, [2, 1])], held)
    g.node("Scan", [start, x], ["last", "all"], body=body, num_scan_inputs=1)
    g.node("Mul", ["all", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [2 * np.minimum(feed["x"], np.float32(10))])


BODIES = (
    Issue(
        "AveragePool, ceil_mode, in Loop", "ONNX Runtime: kernels", "onnxruntime#29629",
        "windows that reach beyond the picture are divided by the whole kernel",
        _pool_in_loop, onnxruntime("1.23.2"), onnxruntime("1.30.0"), Answer(("last",), (r"AveragePool 'p'",)),
        first="Loop 'last' was named, and nothing in its body",
    ),
    Issue(
        "BitShift by 64 in If", "ONNX Runtime: kernels", "onnxruntime#28262", "the number itself comes out",
        _shift_in_if, onnxruntime("1.23.2"), onnxruntime("1.27.0"), Answer(("r",), (r"BitShift 's'",)),
        first="If 'r' was named, and nothing in its branch",
    ),
    Issue(
        "Min with NaN in Scan", "ONNX Runtime: kernels", "onnxruntime#21455", "NaN is dropped",
        _min_in_scan, onnxruntime("1.18.1"), onnxruntime("1.20.1"), Answer(("last",), (r"Min 'm'",)),
        words=("--nan", "equal"), first="Scan 'last' was named, and nothing in its body",
    ),
)  # fmt: skip
