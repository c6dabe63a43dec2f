"""The inputs and weights that the numbers in a model's tensors are made from."""

from __future__ import annotations

from polycmp.graph import GraphNode, ModelGraph, weight_values

#: Bytes of weights that are moved at most, those that are read last first.
_MOST_WEIGHTS = 1 << 30
#: Bytes of the smallest weight that counts as one of a network (choice).
_MATRIX = 64
#: Operators whose results follow from shapes, whatever the numbers are.
_OF_SHAPES = frozenset({"Shape", "Size", "EyeLike"})


def _weight_sizes(graph: ModelGraph) -> dict[str, int]:
    """Return the bytes of all that a model itself holds, by name."""
    held = weight_values(graph, [node.outputs[0] for node in graph.nodes if node.op_type == "Constant"])
    return {**graph.weights, **{name: array.nbytes for name, array in held.items()}}


def last_weights(graph: ModelGraph) -> list[str]:
    """Return the names of the weights that are read last, as many as may be moved."""
    chosen: dict[str, None] = {}
    sizes = _weight_sizes(graph)
    left = _MOST_WEIGHTS
    for node in reversed(graph.nodes):
        for name in node.inputs:
            if name in sizes and name not in chosen and sizes[name] <= left:
                chosen[name] = None
                left -= sizes[name]
    return list(chosen)


class Upstream:
    """What the numbers in the tensors of a model are made from."""

    def __init__(self, graph: ModelGraph) -> None:
        self._makers: dict[str, GraphNode] = {name: node for node in graph.nodes for name in node.outputs}
        self._fed = set(graph.inputs) - set(graph.weights)
        self._matrices = {name for name, size in _weight_sizes(graph).items() if size >= _MATRIX}
        self._known: dict[str, set[str]] = {}

    def inputs(self, tensor: str) -> set[str]:
        """Return the inputs whose numbers, and not only whose shapes, a tensor is made from."""
        return self._names(tensor) & self._fed

    def has_matrices(self, tensor: str) -> bool:
        """Return whether a tensor is made from weights of some size, as trained ones are."""
        return not self._matrices.isdisjoint(self._names(tensor))

    def _names(self, tensor: str) -> set[str]:
        if tensor not in self._known:
            names, left = {tensor}, [tensor]
            while left:
                node = self._makers.get(left.pop())
                if node is not None and node.op_type not in _OF_SHAPES:
                    more = {name for name in node.inputs if name} - names
                    names |= more
                    left += more
            self._known[tensor] = names
        return self._known[tensor]
