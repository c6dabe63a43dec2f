"""A program of ExecuTorch as a graph that can be looked into and cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import GraphNode, OwnGraph
from polycmp.loader import Loader
from polycmp.tensors import TensorMetadata, as_dtype
from polycmp_executorch.model import PteModel
from polycmp_executorch.names import fingerprint
from polycmp_executorch.operators import type_of
from polycmp_executorch.products import with_whole_products
from polycmp_executorch.program import Call, PteProgram

#: Operators that a weight goes through before it is read.
_MOVES = frozenset({"Transpose", "Reshape"})


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

    @cached_property
    def _program(self) -> PteProgram:
        return self._model.program.with_apart_sums()

    @cached_property
    def _products(self) -> tuple[list[Call], Mapping[int, tuple[int, ...]]]:
        calls = [call for call in self._program.calls if not self._fixed.issuperset(call.makes)]
        return with_whole_products(self._program, calls)

    def _entry(self, place: int) -> tuple[str | None, tuple[int, ...] | None]:
        """Return type and shape of a tensor, that of the layer around it where a product is one of matrices."""
        dtype, shape = self._program.entry(place)
        return dtype, self._products[1].get(place, shape)

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
        names.update(self._weight_names)
        names.update(zip(program.outputs, self.outputs, strict=True))
        return names | dict(zip(program.inputs, self.inputs, strict=True))

    @cached_property
    def _weight_names(self) -> Mapping[int, str]:
        """The names of weights in the model that the program was exported from.

        Where the operators read a weight turned round, which a program does as it runs, that has the weight's name.
        """
        known = self._model.weights
        names: dict[int, str] = {}
        for at in self._program.weights if known else ():
            array = self._array(at)
            if array is not None and (name := known.get(fingerprint(array))) is not None:
                names[at] = name
        for call in self._program.calls:
            if len(call.reads) == 1 and call.reads[0] in names and type_of(call.operator) in _MOVES:
                names[call.makes[0]] = names[call.reads[0]]
                names[call.reads[0]] += ".stored"
        return names

    def _array(self, place: int) -> NDArray[Any] | None:
        """Return the numbers of a weight; None of types that NumPy has not."""
        dtype, shape = self._program.entry(place)
        return None if dtype is None else np.frombuffer(self._program.constant(place), as_dtype(dtype)).reshape(shape)

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
        return [self._node(call) for call in self._products[0]]

    @cached_property
    def _wanted(self) -> frozenset[int]:
        """The values that are read, or are outputs."""
        return frozenset(at for call in self._program.calls for at in call.reads).union(self._program.outputs)

    def _node(self, call: Call) -> GraphNode:
        makes = [self._names[at] for place, at in enumerate(call.makes) if not place or at in self._wanted]
        values = ((place, self._program.value(at)) for place, at in enumerate(call.args))
        settings = {f"argument {place}": value for place, value in values if value is not None}
        kind = call.operator if call.is_delegate else type_of(call.operator, settings)
        reads = tuple(self._names[at] for at in call.reads)
        return GraphNode(kind, makes[0], "", reads, tuple(makes), settings)

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
            if (at := self._places.get(name)) is not None and at in held and (array := self._array(at)) is not None:
                values[name] = array
        return values

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return types and shapes of tensors; of those whose sizes depend on the inputs', the types alone."""
        types = TensorMetadata()
        for at, name in self._names.items():
            if self._program.tensor(at) is not None:
                types.add(name, *self._entry(at))
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
        places, made = {name: self._places[name] for name in inputs}, [self._places[name] for name in outputs]
        shown = self._products[1]
        sizes = {
            at: [int(size) for size in (program.entry(at)[1] if at in shown else inputs[name].shape) or ()]
            for name, at in places.items()
        }
        shapes = {name: shown[at] for name, at in zip(outputs, made, strict=True) if at in shown}
        return PteModel(PteProgram(program.part(sizes, made), program.path), inputs, outputs, shapes=shapes)


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
