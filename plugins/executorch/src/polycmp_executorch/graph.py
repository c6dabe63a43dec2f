"""A program of ExecuTorch as a graph that can be looked into and cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import GraphNode, OwnGraph
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata
from polycmp_executorch.model import PteModel
from polycmp_executorch.operators import operands_of, type_of
from polycmp_executorch.program import Call, PteProgram


class PteGraph(OwnGraph):
    """A program, as `polycmp.graph.ModelGraph` describes. Its tensors are called by operator and place in the file.

    Args:
        load: Makes the program.
    """

    def __init__(self, load: Loader[PteModel]) -> None:
        self._load = load

    @cached_property
    def _model(self) -> PteModel:
        return self._load()

    @property
    def _program(self) -> PteProgram:
        return self._model.program

    @property
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""
        return self._model.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs."""
        return self._model.outputs

    @cached_property
    def _names(self) -> Mapping[int, str]:
        """The name of each tensor, by its place."""
        program = self._program
        names = {at: f"weight.{at}" for at in program.weights}
        names.update({at: f"{_plain(call)}.{at}" for call in program.calls for at in call.makes})
        return (
            names
            | dict(zip(program.outputs, self.outputs, strict=True))
            | dict(zip(program.inputs, self.inputs, strict=True))
        )

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: at for at, name in self._names.items()}

    @cached_property
    def _fixed(self) -> frozenset[int]:
        """The values that depend on no input."""
        fixed = set(self._program.weights)
        for call in self._program.calls:
            if fixed.issuperset(call.reads):
                fixed.update(call.makes)
        return frozenset(fixed)

    @cached_property
    def nodes(self) -> list[GraphNode]:
        """The operators in their order; a delegate is one."""
        return [self._node(call) for call in self._program.calls if not self._fixed.issuperset(call.makes)]

    def _node(self, call: Call) -> GraphNode:
        program = self._program
        read = (
            {at for other in program.calls for at in other.reads}.union(program.outputs) if len(call.makes) > 1 else ()
        )
        makes = [at for place, at in enumerate(call.makes) if not place or at in read]
        settings = {
            f"argument {place}": value for place, at in enumerate(call.args) if (value := program.value(at)) is not None
        }
        kind = call.operator if call.is_delegate else type_of(call.operator)
        reads = [self._names[at] for at in operands_of(call.operator, call.reads)]
        outputs = tuple(self._names[at] for at in makes)
        return GraphNode(kind, outputs[0], "", tuple(reads), outputs, settings)

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of what the program holds, and of what is computed from that alone."""
        held = self._program.weights
        return {self._names[at]: len(self._program.constant(at)) if at in held else 0 for at in self._fixed}

    @property
    def opaque(self) -> frozenset[str]:
        """Names of sizes, which are no tensors."""
        return frozenset(name for at, name in self._names.items() if self._program.tensor(at) is None)

    def values(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return the values of weights that the file holds.

        Args:
            names: Names of weights.
        """
        held, values = self._program.weights, dict[str, NDArray[Any]]()
        for name in names:
            if (at := self._places.get(name)) in held and at is not None:
                dtype, shape = self._program.entry(at)
                if dtype is not None and shape is not None:
                    values[name] = np.frombuffer(self._program.constant(at), dtype).reshape(shape)
        return values

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return types and shapes of tensors; of those whose sizes depend on the inputs', the types alone."""
        types = TensorMetadata()
        for at, name in self._names.items():
            if self._program.tensor(at) is not None:
                types.add(name, *self._program.entry(at))
        return types.update(inputs)

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[PteModel]:
        """Return a loader of the program of the operators that make tensors of others."""
        return PtePart(self, inputs, tuple(outputs))

    def mark(self, outputs: Sequence[str]) -> Loader[PteModel]:
        """Return a loader of the whole program with these outputs."""
        return PtePart(self, self.inputs, tuple(outputs))

    def part(self, inputs: TensorMetadata, outputs: tuple[str, ...]) -> PteModel:
        """Return the operators that make tensors of others.

        Args:
            inputs: Types and shapes of what is fed.
            outputs: Names of what is asked for.
        """
        program = self._program
        shapes = {self._places[name]: entry.shape for name, entry in inputs.items()}
        file = program.part(shapes, [self._places[name] for name in outputs])
        return PteModel(PteProgram(file, program.path), inputs, outputs)


class PtePart(Loader[PteModel]):
    """A part of a program; arguments as of `PteGraph.part`, with the graph before them."""

    model_kind = "executorch"

    def __init__(self, graph: PteGraph, inputs: TensorMetadata, outputs: tuple[str, ...]) -> None:
        self.graph, self.inputs, self.outputs = graph, inputs, outputs

    def call_impl(self) -> PteModel:
        """Return the part."""
        return self.graph.part(self.inputs, self.outputs)


def _plain(call: Call) -> str:
    return call.operator.rpartition("::")[2].strip("_").removesuffix("_copy")
