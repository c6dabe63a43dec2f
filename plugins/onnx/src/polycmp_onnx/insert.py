"""Putting one node into a graph, in place of all nodes between two sets of tensors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp_onnx.graph import GraphView, computed_tensors, rename_reads
from polycmp_onnx.passes import CLEAN, SORTED, WEIGHTS_APART, model_pass
from polycmp_onnx.tidy import clean_up, sort_nodes


@model_pass(requires=(WEIGHTS_APART,), ensures=(SORTED, CLEAN))
def insert_node(
    model: Any,
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    name: str = "",
    domain: str = "",
    attributes: Mapping[str, Any] | None = None,
) -> bool:
    """Put a node between tensors, and take out the nodes that nothing depends on any more.

    A tensor that is both read and written by the new node keeps its name on the side where others see it: as a graph
    output it becomes what the new node makes; otherwise the new node makes a tensor of a new name for all its readers.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        op: The node's operator.
        inputs: Tensors that it reads; "" for an optional input that is left out.
        outputs: Tensors that it makes, in place of the nodes that made them.
        name: Name of the new node.
        domain: The operator's domain.
        attributes: Attributes of the new node.

    Returns:
        True: there is a node more, or another one.

    Raises:
        UsageError: A tensor is unknown, or an output is a weight or an input of the model that the node does not read.
    """
    import onnx

    graph = model.graph
    names = [*(item.name for item in graph.input), *(item.name for item in graph.initializer), *computed_tensors(graph)]
    for tensor in inputs:
        if tensor and tensor not in names:
            raise UsageError(f"the model has no tensor {tensor!r}", whose="--inputs", why=did_you_mean(tensor, names))
    free = [_free(graph, tensor, inputs, names) for tensor in outputs]
    new = onnx.helper.make_node(op, inputs, free, name=name or None, domain=domain or None)
    new.attribute.extend(itertools.starmap(onnx.helper.make_attribute, (attributes or {}).items()))  # in this order
    _rewire(graph, new, dict(zip(outputs, free, strict=True)))
    positions = GraphView(graph).positions
    graph.node.insert(max((positions[tensor] for tensor in new.input if tensor in positions), default=-1) + 1, new)
    if domain and domain not in {item.domain for item in model.opset_import}:
        model.opset_import.append(onnx.helper.make_opsetid(domain, 1))
    sort_nodes(model)
    clean_up(model)
    del graph.value_info[:]  # what follows the new node may have any type and shape
    return True


def _free(graph: Any, tensor: str, inputs: Sequence[str], names: Sequence[str]) -> str:
    """Return the name under which the new node makes a tensor."""
    if tensor in inputs and tensor not in {value.name for value in graph.output}:
        return _unused(f"{tensor}_inserted", names)
    if tensor not in names:
        raise UsageError(f"the model has no tensor {tensor!r}", whose="--outputs", why=did_you_mean(tensor, names))
    if tensor not in inputs and tensor not in computed_tensors(graph):
        raise UsageError(
            f"{tensor!r} is an input or a weight, so no node can compute it",
            whose="--outputs",
            hint=f"give it to --inputs too: the node's result then takes its place for all that read {tensor!r}",
        )
    return tensor


def _unused(name: str, names: Sequence[str]) -> str:
    number = 0
    while name in names:
        number += 1
        name = f"{name}_{number}"
    return name


def _rewire(graph: Any, new: Any, names: Mapping[str, str]) -> None:
    """Let others read what the new node makes, and take these tensors away from the nodes that made them."""
    read = set(new.input)
    for tensor, inserted in names.items():
        if inserted != tensor:  # it still exists: only its readers change
            for node in graph.node:
                rename_reads(node, {tensor: inserted})
            for value in graph.output:
                value.name = inserted if value.name == tensor else value.name
        elif tensor in read:  # it is a graph output: what made it gets another name
            before = _unused(f"{tensor}_before", computed_tensors(graph))
            for node in graph.node:
                node.output[:] = [before if name == tensor else name for name in node.output]
            new.input[:] = [before if name == tensor else name for name in new.input]
        else:
            for node in graph.node:
                node.output[:] = [_unused(f"{tensor}_replaced", computed_tensors(graph)) if name == tensor else name
                                  for name in node.output]  # fmt: skip
