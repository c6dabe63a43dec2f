"""How polycmp looks inside a toy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from polycmp.graph import GraphNode
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata, dtype_of
from toybox.loader import CutToy, MarkToy
from toybox.model import Toy, run_node, weight, weight_bytes


class ToyGraph:
    """A toy as a graph."""

    opaque: frozenset[str] = frozenset()

    def __init__(self, load: Callable[[], Toy]) -> None:
        self.load = load

    @cached_property
    def toy(self) -> Toy:
        return self.load()

    @property
    def inputs(self) -> TensorMetadata:
        return self.toy.metadata

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.toy.outputs

    @cached_property
    def nodes(self) -> Sequence[GraphNode]:
        return [
            GraphNode(node.op, node.name, "", node.inputs, node.outputs, node.attributes) for node in self.toy.nodes
        ]

    @cached_property
    def weights(self) -> Mapping[str, int]:
        return {name: weight_bytes(spec) for name, spec in self.toy.weights.items()}

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Run the model on zeros to learn the shapes; where the inputs leave some open, nothing is known inside."""
        if any(entry.is_dynamic() for entry in inputs.values()):
            return inputs
        known = TensorMetadata(inputs)
        values = {name: np.zeros(entry.static_shape(), entry.dtype) for name, entry in inputs.items()}
        values.update({name: weight(spec) for name, spec in self.toy.weights.items()})
        last_reader = {name: index for index, node in enumerate(self.toy.nodes) for name in node.inputs}
        for index, node in enumerate(self.toy.nodes):
            for name, array in zip(node.outputs, run_node(node, values, ""), strict=True):
                values[name] = array
                known.add(name, dtype_of(array), array.shape)
            for name in [name for name in values if last_reader.get(name, -1) <= index]:
                del values[name]
        return known

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Toy]:
        return CutToy(self.load, inputs, tuple(outputs))

    def mark(self, outputs: Sequence[str]) -> Loader[Toy]:
        return MarkToy(self.load, tuple(outputs))


def open_graph(loader: Callable[[], Toy]) -> ToyGraph:
    """Return a toy as a graph."""
    return ToyGraph(loader)
