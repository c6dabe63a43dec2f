"""Parts of a model: their operators, inputs and outputs, and what a reference feeds them with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from polycmp.graph import ModelGraph
from polycmp.layerwise import PartitionedRun, makers, static_tensors
from polycmp.tensors import Feed


@dataclass(frozen=True)
class ModelPart:
    """A part of a model. Two parts are equal if they begin and end with the same tensors.

    Attributes:
        inputs: Tensors that it begins with, in the order in which they are read.
        outputs: Tensors that it gives out.
        nodes: Positions of its operators.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[int, ...] = field(compare=False)

    @property
    def size(self) -> int:
        """Number of operators."""
        return len(self.nodes)


class PartCutter:
    """Cuts parts out of a graph.

    A tensor that depends on weights alone is never an input of a part: the part computes it for itself. In a model
    without inputs, where that would be all of them, this holds for weights and constants only.

    Args:
        graph: The model.
        uncut: Tensors that no part may begin with; their operators are taken in instead.
    """

    def __init__(self, graph: ModelGraph, uncut: Collection[str] = ()) -> None:
        self.graph = graph
        self.static = static_tensors(graph)
        if not graph.inputs:
            self.static -= {name for node in graph.nodes if node.inputs for name in node.outputs}
        self.maker = makers(graph.nodes)
        self._uncut = {*uncut, *graph.opaque}

    def between(self, chosen: Collection[int], outputs: Iterable[str]) -> ModelPart:
        """Return the part that computes tensors with some of the operators, as far as they are needed for it.

        Args:
            chosen: Positions of the operators.
            outputs: Outputs of the part; the operators that make them always belong to it.
        """
        output_names = tuple(outputs)
        allowed = {*chosen, *(self.maker[name] for name in output_names if name in self.maker)}
        inputs: dict[str, None] = {}
        nodes: set[int] = set()
        seen: set[str] = set()
        waiting = list(output_names)
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            index = self.maker.get(name)
            if index is not None and (index in allowed or name in self.static or name in self._uncut):
                if index not in nodes:
                    nodes.add(index)
                    waiting += self.graph.nodes[index].inputs
            elif name not in self.static:
                inputs[name] = None
        return ModelPart(tuple(inputs), output_names, tuple(sorted(nodes)))

    def whole(self, outputs: Iterable[str]) -> ModelPart:
        """Return the part that computes tensors from the model's own inputs."""
        return self.between(range(len(self.graph.nodes)), outputs)

    def before(self, position: int) -> ModelPart:
        """Return the part before a position: its outputs are the tensors that are read after it or the model's own."""
        read = {name for node in self.graph.nodes[position:] for name in node.inputs} | set(self.graph.outputs)
        computed = [name for node in self.graph.nodes[:position] for name in node.outputs]
        alive = [
            name for name in computed if name in read and name not in self.static and name not in self.graph.opaque
        ]
        return self.between(range(position), alive)

    def last(self, count: int, nodes: Collection[int], outputs: Iterable[str]) -> ModelPart:
        """Return the part of the last `count` of some operators."""
        return self.between(sorted(nodes)[-count:], outputs)


class ReferenceTensors:
    """The reference's tensors for some inputs of the model, each computed once.

    Args:
        reference: The backend that makes what parts read.
        feed: The inputs.
    """

    def __init__(self, reference: PartitionedRun, feed: Feed) -> None:
        self._reference, self._feed = reference, feed
        self._known: dict[str, Any] = dict(feed)

    def __call__(self, names: Sequence[str]) -> dict[str, Any] | None:
        """Return the tensors of these names; None if the reference cannot show them."""
        missing = [name for name in names if name not in self._known]
        outputs = self._reference.run_part(self._feed, missing) if missing else {}
        if outputs is None:
            return None
        self._known.update(outputs)
        return {name: self._known[name] for name in names}
