"""Structure of a graph of any format: which node makes a tensor, which tensors depend on weights alone."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.graph import GraphNode, ModelGraph


def static_tensors(graph: ModelGraph) -> set[str]:
    """Return the tensors that depend on weights alone, the weights included: a part computes them for itself."""
    static = set(graph.weights)
    for node in graph.nodes:
        if node.inputs and all(name in static for name in node.inputs):
            static.update(node.outputs)
    return static


def same_structure(one: ModelGraph, two: ModelGraph) -> bool:
    """Return whether two models have the same operators between tensors of the same names and types.

    A weight of another type takes other bytes; from weights and inputs on, only a Cast changes types.
    """
    if one is two:
        return True
    casts = ((a.attributes, b.attributes) for a, b in zip(one.nodes, two.nodes, strict=False) if a.op_type == "Cast")
    return same_operators(one, two) and one.weights == two.weights and all(a == b for a, b in casts)


def same_operators(one: ModelGraph, two: ModelGraph) -> bool:
    """Return whether two models have the same operators between tensors of the same names, of whichever types."""
    return len(one.nodes) == len(two.nodes) and all(
        (a.op_type, a.domain, a.inputs, a.outputs) == (b.op_type, b.domain, b.inputs, b.outputs)
        for a, b in zip(one.nodes, two.nodes, strict=True)
    )


def makers(nodes: Iterable[GraphNode]) -> dict[str, int]:
    """Return by name of a tensor the position of the operator that makes it."""
    return {name: index for index, node in enumerate(nodes) for name in node.outputs}


def final_outputs(graph: ModelGraph) -> tuple[str, ...]:
    """Return the model's outputs as tensors, without those that are outputs only because all tensors were asked for."""
    outputs = tensor_outputs(graph)
    count = sum(len(node.outputs) for node in graph.nodes)
    if len(outputs) * 2 <= count:
        return outputs
    read = {name for node in graph.nodes for name in node.inputs if graph.opaque.isdisjoint(node.outputs)}
    return tuple(name for name in outputs if name not in read) or outputs


def tensor_outputs(graph: ModelGraph) -> tuple[str, ...]:
    """Return the model's outputs, with the tensors in them in place of those that are no tensors."""
    if graph.opaque.isdisjoint(graph.outputs):
        return graph.outputs
    return tuple(dict.fromkeys(tensor for name in graph.outputs for tensor in tensors_behind(graph, name)))


def tensors_behind(graph: ModelGraph, name: str) -> tuple[str, ...]:
    """Return the computed tensors in a sequence, an optional or a map; for a tensor, the tensor itself."""
    place, static = makers(graph.nodes), static_tensors(graph)
    tensors: dict[str, None] = {}
    waiting, seen = [name], set()
    while waiting:
        item = waiting.pop()
        if item in seen or item not in place:
            continue
        seen.add(item)
        if item in graph.opaque:
            waiting.extend(reversed([read for read in graph.nodes[place[item]].inputs if read not in static]))
        else:
            tensors[item] = None
    return tuple(tensors)
