"""Faults of a network, planted before a tool gets it: what a program that writes weights gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Fault(NamedTuple):
    """A network with a fault.

    Attributes:
        name: What is wrong.
        model: The network.
        tensors: What the operators make that are wrong.
    """

    name: str
    model: onnx.ModelProto
    tensors: list[str]


def faults_of(model: onnx.ModelProto) -> Iterator[Fault]:
    """Yield the network with each fault that it may have."""
    held = {item.name: item for item in model.graph.initializer}
    weighted = [
        node for node in model.graph.node
        if node.op_type in {"MatMul", "Gemm", "Conv"} and node.input[1] in held and len(held[node.input[1]].dims) > 1
    ]  # fmt: skip
    weight, late = (weighted[place].input[1] for place in (len(weighted) // 2, 3 * len(weighted) // 4))
    yield _changed(model, "weight x 1.3", weight, lambda values: values * 1.3)
    yield _changed(model, "weight x 1.02", late, lambda values: values * 1.02)
    bias = next(filter(None, (_bias(model, node, set(held)) for node in weighted[len(weighted) // 3 :])), "")
    if bias and np.abs(numpy_helper.to_array(held[bias])).max() > 0:
        yield _changed(model, "bias dropped", bias, np.zeros_like)
    yield from _of_a_node(
        model, "epsilon 0.1", lambda node: any(item.name == "epsilon" for item in node.attribute), _other_epsilon
    )
    yield from _of_a_node(model, "softmax axis", lambda node: node.op_type == "Softmax", _other_axis)
    functions = {"Relu", "Gelu", "Erf", "Sigmoid", "Tanh"}
    yield from _of_a_node(model, "activation missing", lambda node: node.op_type in functions, _left_away)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def _changed(model: onnx.ModelProto, what: str, name: str, change: Callable[[Any], Any]) -> Fault:
    made = _copy(model)
    item = next(item for item in made.graph.initializer if item.name == name)
    values = numpy_helper.to_array(item)
    item.CopyFrom(numpy_helper.from_array(np.asarray(change(values)).astype(values.dtype), name))
    return Fault(what, made, [output for node in made.graph.node if name in node.input for output in node.output])


def _bias(model: onnx.ModelProto, node: Any, held: set[str]) -> str:
    """Return the name of the bias that an operator adds, or that is added to its result; empty if there is none."""
    if node.op_type in {"Gemm", "Conv"} and len(node.input) > 2 and node.input[2] in held:
        return str(node.input[2])
    readers = [other for other in model.graph.node if node.output[0] in other.input]
    if len(readers) != 1 or readers[0].op_type != "Add":
        return ""
    return next((str(name) for name in readers[0].input if name in held), "")


def _of_a_node(
    model: onnx.ModelProto, what: str, suits: Callable[[Any], bool], change: Callable[[Any], None]
) -> Iterator[Fault]:
    """Yield the network whose middle node of those that suit is changed."""
    places = [place for place, node in enumerate(model.graph.node) if suits(node)]
    if places:
        made = _copy(model)
        node = made.graph.node[places[len(places) // 2]]
        change(node)
        yield Fault(what, made, list(node.output))


def _other_epsilon(node: Any) -> None:
    next(item for item in node.attribute if item.name == "epsilon").f = 0.1


def _other_axis(node: Any) -> None:
    axis = next((item for item in node.attribute if item.name == "axis"), None)
    if axis is None:
        node.attribute.append(helper.make_attribute("axis", -2))
    else:
        axis.i = -2 if axis.i in {-1, 2, 3} else -1


def _left_away(node: Any) -> None:
    node.op_type, node.domain = "Identity", ""
    del node.attribute[:]
