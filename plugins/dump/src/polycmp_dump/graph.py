"""The model between the tensors of a dump, as a graph that can be looked into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from polycmp.graph import GraphNode, OwnGraph
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata
from polycmp_dump.dump import Dump


class DumpGraph(OwnGraph):
    """A model of which some tensors were dumped, as `polycmp.graph.ModelGraph` describes.

    Each operator that made one of them reads those that it was made of.

    Args:
        dump: The dump.

    Raises:
        FileError: A file of an output does not fit the model, or none of them is known.
        UsageError: The map says what cannot be.
    """

    def __init__(self, dump: Dump) -> None:
        self._dump, self._model, self._recorded = dump, dump.model_graph, dump.readable

    @property
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""
        return self._model.inputs

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The model's outputs that the dump holds."""
        return tuple(name for name in self._model.outputs if name in self._recorded)

    @property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of every tensor that the model itself holds."""
        return self._model.weights

    @property
    def opaque(self) -> frozenset[str]:
        """Names of what is no tensor."""
        return self._model.opaque

    @cached_property
    def nodes(self) -> list[GraphNode]:
        """The operators that made the tensors of the dump."""
        nodes = []
        origins: dict[str, tuple[str, ...]] = {name: (name,) for name in self._model.inputs}
        for node in self._model.nodes:
            read = dict.fromkeys(
                origin for name in node.inputs for origin in origins.get(name, (name,) if name in self.weights else ())
            )
            inner = tuple(name for name in read if name not in self.weights)
            shown = tuple(name for name in node.outputs if name in self._recorded)
            for name in node.outputs:
                origins[name] = (name,) if name in self._recorded else inner
            if shown:
                is_whole = all(name in read for name in node.inputs) and shown == node.outputs
                operands = node.operands if is_whole else ()
                nodes.append(replace(node, inputs=tuple(read), outputs=shown, operands=operands))
        return nodes

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return types and shapes of the tensors, as the model has them."""
        types = self._dump.types(inputs)
        return TensorMetadata({name: types[name] for name in types if name in self._recorded or name in self.inputs})

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[DumpPart]:
        """Return a loader of the tensors that were made of others."""
        return DumpPartLoader(self._dump, inputs, tuple(outputs))

    def mark(self, outputs: Sequence[str]) -> Loader[DumpPart]:
        """Return a loader of these tensors, made of the model's inputs."""
        return self.cut(self.inputs, outputs)


class DumpPart:
    """Some tensors of a dump, and those that they were made of.

    Args:
        dump: The dump.
        inputs: Types and shapes of what they were made of.
        outputs: Their names.
    """

    def __init__(self, dump: Dump, inputs: TensorMetadata, outputs: tuple[str, ...]) -> None:
        self.dump, self.inputs, self.outputs = dump, inputs, outputs


class DumpPartLoader(Loader[DumpPart]):
    """Makes a part of a dump; arguments as of `DumpPart`."""

    def __init__(self, dump: Dump, inputs: TensorMetadata, outputs: tuple[str, ...]) -> None:
        self.dump, self.inputs, self.outputs = dump, inputs, outputs

    def call_impl(self) -> DumpPart:
        """Return the part."""
        return DumpPart(self.dump, self.inputs, self.outputs)
