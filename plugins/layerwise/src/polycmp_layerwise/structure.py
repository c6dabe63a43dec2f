"""What the structure of a graph says, whatever model it is of: who makes what, what depends on weights alone."""

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
    """Return whether two models have the same operators between tensors of the same names."""
    if one is two:
        return True
    return len(one.nodes) == len(two.nodes) and all(
        (a.op_type, a.domain, a.inputs, a.outputs) == (b.op_type, b.domain, b.inputs, b.outputs)
        for a, b in zip(one.nodes, two.nodes, strict=True)
    )


def makers(nodes: Iterable[GraphNode]) -> dict[str, int]:
    """Return by name of a tensor the position of the operator that makes it."""
    return {name: index for index, node in enumerate(nodes) for name in node.outputs}


def final_outputs(graph: ModelGraph) -> tuple[str, ...]:
    """Return the model's outputs, without those that are outputs only because all tensors were asked for."""
    made = sum(len(node.outputs) for node in graph.nodes)
    if len(graph.outputs) * 2 <= made:
        return graph.outputs
    read = {name for node in graph.nodes for name in node.inputs}
    return tuple(name for name in graph.outputs if name not in read) or graph.outputs
