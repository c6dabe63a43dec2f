"""Flow of an error through a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from polycmp.graph import GraphNode


class Flow:
    """Data flow between the tensors of a graph.

    Args:
        nodes: The operators in an order in which they can run.

    Attributes:
        computed: The names of all tensors that operators make.
    """

    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self.computed = frozenset(name for node in nodes for name in node.outputs)
        self._readers: dict[str, list[GraphNode]] = {}
        self._maker = {name: node for node in nodes for name in node.outputs}
        for node in nodes:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)

    def readers(self, tensor: str) -> list[GraphNode]:
        """Return the operators that read a tensor."""
        return self._readers.get(tensor, [])

    def reached(self, tensor: str, carries: Callable[[str], bool]) -> set[str]:
        """Return the tensors that depend on one, itself included, through tensors that carry the error."""
        seen, waiting = {tensor}, [tensor]
        while waiting:
            for node in self.readers(waiting.pop()):
                for name in node.outputs:
                    if name not in seen and carries(name):
                        seen.add(name)
                        waiting.append(name)
        return seen

    def before(self, tensor: str, border: Set[str] = frozenset()) -> set[str]:
        """Return the tensors that one is made of, itself included, no further back than those of a border."""
        seen, waiting = {tensor}, [tensor]
        while waiting:
            name = waiting.pop()
            node = self._maker.get(name) if name not in border else None
            new = set(node.inputs) - seen if node is not None else set()
            seen |= new
            waiting += new
        return seen

    def behind(self, tensors: Iterable[str]) -> set[str]:
        """Return the outputs of the operators that read some tensors, without those themselves."""
        reached = set(tensors)
        return {name for tensor in reached for node in self.readers(tensor) for name in node.outputs} - reached
