"""Operators that a backend replaces by others, read from the model as the backend has rewritten it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import makers, static_tensors

__all__ = ["Rewrite", "rewrites"]


@dataclass(frozen=True)
class Rewrite:
    """Operators of a model, and those that a backend computes in their place.

    Attributes:
        replaced: The model's operators, in its order.
        by: The types of the others.
        inputs: Inputs of both.
        outputs: Outputs of both.
    """

    replaced: tuple[GraphNode, ...]
    by: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def holds(self, tensor: str) -> bool:
        """Return whether a tensor of the model is no longer there."""
        return tensor not in self.outputs and any(tensor in node.outputs for node in self.replaced)


def rewrites(graph: ModelGraph, rewritten: Sequence[GraphNode]) -> list[Rewrite]:
    """Return the rewrites of a backend in a model, in the order of the model.

    Operators belong together where they pass each other tensors that the model does not have. What they replace is all
    that the model computes between what they read and what they make.

    Args:
        graph: The model.
        rewritten: The operators of the model as the backend has rewritten it.
    """
    rewritten = _with_names(graph, rewritten)
    maker, static = makers(graph.nodes), static_tensors(graph)
    keys = {_key(node, static) for node in graph.nodes}
    weights = _weights(graph, rewritten)
    model_tensors = {*maker, *graph.inputs, *graph.weights}
    rewritings = []
    for group in _groups([node for node in rewritten if _key(node, weights) not in keys], model_tensors):
        read = {name for node in group for name in node.inputs if name in model_tensors}
        computed = [name for node in group for name in node.outputs if name in maker]
        positions = _between(graph, maker, static, read, computed)
        replaced = tuple(graph.nodes[index] for index in sorted(positions))
        by = tuple(node.op_type for node in group)
        if replaced and by != tuple(node.op_type for node in replaced):
            rewritings.append(Rewrite(replaced, by, tuple(sorted(read - static)), tuple(computed)))
    return sorted(rewritings, key=lambda rewrite: maker[rewrite.replaced[0].outputs[0]])


def _key(node: GraphNode, weights: Set[str]) -> tuple[object, ...]:
    """Return a key by which an operator is the same in both models, where weights may have any names."""
    return node.op_type, node.domain, _read(node, weights), node.outputs


def _read(node: GraphNode, weights: Set[str]) -> tuple[str, ...]:
    return tuple("" if name in weights else name for name in node.inputs)


def _weights(graph: ModelGraph, rewritten: Sequence[GraphNode]) -> set[str]:
    """Return the names that operators of the rewritten model read and that are neither computed nor inputs."""
    known = {*graph.inputs, *(name for node in rewritten for name in node.outputs)}
    return {name for node in rewritten for name in node.inputs} - known


def _with_names(graph: ModelGraph, rewritten: Sequence[GraphNode]) -> list[GraphNode]:
    """Return rewritten operators with the model's names for tensors that have other ones and are the same.

    That is what the only operator of a type makes of the same tensors, and what it reads to make the same.
    """
    static, weights = static_tensors(graph), _weights(graph, rewritten)
    model_tensors = {*graph.inputs, *static, *(name for node in graph.nodes for name in node.outputs)}
    alike = Counter((node.op_type, node.domain, _read(node, static)) for node in graph.nodes)
    inputs_to_outputs = {(node.op_type, node.domain, _read(node, static)): node.outputs for node in graph.nodes}
    outputs_to_inputs = {(node.op_type, node.domain, node.outputs): node.inputs for node in graph.nodes}
    names: dict[str, str] = {}

    def learn(rewritten_names: Sequence[str], model_names: Sequence[str] | None) -> None:
        if model_names is None or len(rewritten_names) != len(model_names):
            return
        pairs = list(zip(rewritten_names, model_names, strict=True))
        pairs = [(one, two) for one, two in pairs if one not in weights and two not in static]
        if all(one == two or one not in model_tensors for one, two in pairs):
            names.update((one, two) for one, two in pairs if one != two)

    for node in rewritten:
        key = node.op_type, node.domain, _read(_renamed(node, names), weights)
        learn(node.outputs, inputs_to_outputs.get(key) if alike[key] == 1 else None)
    for node in reversed(rewritten):
        learn(node.inputs, outputs_to_inputs.get((node.op_type, node.domain, _renamed(node, names).outputs)))
    return [_renamed(node, names) for node in rewritten]


def _renamed(node: GraphNode, names: Mapping[str, str]) -> GraphNode:
    inputs, outputs = ((names.get(name, name) for name in side) for side in (node.inputs, node.outputs))
    return replace(node, inputs=tuple(inputs), outputs=tuple(outputs))


def _groups(nodes: Sequence[GraphNode], model_tensors: Set[str]) -> Iterator[list[GraphNode]]:
    """Yield operators in groups that tensors connect which the model does not have."""
    group_of: dict[int, list[int]] = {index: [index] for index in range(len(nodes))}
    makes = {name: index for index, node in enumerate(nodes) for name in node.outputs if name not in model_tensors}
    for index, node in enumerate(nodes):
        for name in node.inputs:
            other = group_of[makes[name]] if name in makes else group_of[index]
            if other is not group_of[index]:
                other += group_of[index]
                group_of.update(dict.fromkeys(group_of[index], other))
    yield from ([nodes[index] for index in sorted(group)] for group in {id(g): g for g in group_of.values()}.values())


def _between(
    graph: ModelGraph, maker: dict[str, int], static: Set[str], read: Set[str], computed: Sequence[str]
) -> set[int]:
    """Return the positions of the operators that compute some tensors from others."""
    between: set[int] = set()
    waiting = list(computed)
    while waiting:
        index = maker.get(waiting.pop(), -1)
        if index >= 0 and index not in between:
            between.add(index)
            waiting += [name for name in graph.nodes[index].inputs if name not in read and name not in static]
    return between
