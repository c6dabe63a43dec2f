"""The graphs inside If, Loop and Scan as models of their own, as they run first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import NodeProto, helper

from polycmp_onnx.graph import computed_tensors, known_values, reads
from polycmp_onnx.shapes import structure

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto

Arrays = Mapping[str, "NDArray[Any]"]
#: The operators that run a graph inside.
CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})
#: The version of ONNX's operators from which on Scan has no batch of its own.
_SCAN = 9


def first_run(
    model: ModelProto, node: NodeProto, held: Arrays, weights: Arrays
) -> tuple[ModelProto, dict[str, NDArray[Any]]] | None:
    """Return what an operator runs first inside, and what that is fed.

    Args:
        model: The model.
        node: An operator of its graph.
        held: Values of what it reads that are no weights of the model.
        weights: Values of its own inputs that are.

    Returns:
        None where nothing runs inside, or a value that decides is not known.
    """
    graphs = {item.name: item.g for item in node.attribute if item.HasField("g")}
    known = {**weights, **held}
    operands = [known.get(name) for name in node.input]
    if node.op_type == "If" and operands[0] is not None:
        return _model(model, graphs["then_branch" if bool(operands[0]) else "else_branch"], held, {})
    if node.op_type == "Loop":
        fed = _loop(graphs["body"], operands)
    elif node.op_type == "Scan" and all(item.version >= _SCAN for item in model.opset_import if not item.domain):
        fed = _scan(graphs["body"], node, operands)
    else:
        return None
    return None if fed is None else _model(model, graphs["body"], held, fed)


def _loop(body: GraphProto, operands: Sequence[NDArray[Any] | None]) -> dict[str, NDArray[Any]] | None:
    trips, condition, *states = operands
    if any(item is None for item in states) or (trips is not None and int(trips) < 1):
        return None
    if condition is not None and not bool(condition):
        return None
    step, going, *names = (value.name for value in body.input)
    first = {step: np.array(0, np.int64), going: np.array(True)}
    return first | {name: item for name, item in zip(names, states, strict=True) if item is not None}


def _scan(body: GraphProto, node: NodeProto, operands: Sequence[NDArray[Any] | None]) -> dict[str, NDArray[Any]] | None:
    attributes = {item.name: helper.get_attribute_value(item) for item in node.attribute if not item.HasField("g")}
    count = int(attributes["num_scan_inputs"])
    backwards = attributes.get("scan_input_directions", [0] * count)
    axes = attributes.get("scan_input_axes", [0] * count)
    fed: dict[str, NDArray[Any]] = {}
    for place, (value, array) in enumerate(zip(body.input, operands, strict=True)):
        if array is None:
            return None
        scanned = place - (len(operands) - count)
        if scanned >= 0:
            if not array.shape[axes[scanned]]:
                return None
            array = np.take(array, -1 if backwards[scanned] else 0, axes[scanned])  # noqa: PLW2901
        fed[value.name] = np.asarray(array)
    return fed


def _model(
    model: ModelProto, body: GraphProto, held: Arrays, fed: Mapping[str, NDArray[Any]]
) -> tuple[ModelProto, dict[str, NDArray[Any]]] | None:
    """Return a graph inside as a model, with what it reads from around it, and all that is fed to it."""
    around = _read_around(body)
    feed = {**fed, **{name: held[name] for name in around if name in held}}
    weights = {item.name: item for item in model.graph.initializer}
    constants = {node.output[0]: node for node in model.graph.node if node.op_type == "Constant"}
    computed = set(computed_tensors(body))
    outputs = [value for value in body.output if value.name in computed]
    if not outputs or any(name not in feed and name not in weights and name not in constants for name in around):
        return None
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feed.items()
    ]
    nodes = [constants[name] for name in around if name in constants and name not in feed]
    read = [weights[name] for name in around if name in weights and name not in feed]
    graph = helper.make_graph([*nodes, *body.node], body.name or "inside", inputs, outputs, [*body.initializer, *read])
    inside = helper.make_model(graph, opset_imports=model.opset_import, functions=model.functions)
    inside.ir_version = model.ir_version
    try:  # bodies need not tell shapes
        known = known_values(onnx.shape_inference.infer_shapes(structure(inside)).graph)
    except Exception:  # noqa: BLE001 - shapes are a help here, never a need
        known = {}
    for output in inside.graph.output:
        output.CopyFrom(known.get(output.name, output))
    return inside, feed


def _read_around(body: GraphProto) -> list[str]:
    """Return the names that a graph inside takes from around it."""
    inside = {item.name for field in (body.input, body.initializer) for item in field} | set(computed_tensors(body))
    names = (name for node in body.node for name in reads(node) if name not in inside)
    return list(dict.fromkeys(names))
