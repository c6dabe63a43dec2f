"""Views of two backends with different models that can be walked side by side: each pair of tensors has one name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.data import merge_inputs
from polycmp.graph import DeclaredGraph, GraphNode, ModelGraph, weight_values
from polycmp.layerwise import JoinParts, PartitionedRun, tensor_outputs
from polycmp.loader import Loader
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_of, is_floating, to_numpy
from polycmp_locate.pairing.codes import Quantisation
from polycmp_locate.pairing.matching import pair_sides
from polycmp_locate.pairing.parts import join, weight_name
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.pairing.side import ModelSide

#: The type of the numbers that codes are multiplied out to.
_DECODED_DTYPE = np.dtype(np.float32)


class Aligned(NamedTuple):
    """Two backends whose graphs have the same operators between tensors of the same names.

    Attributes:
        candidate: The candidate; its tensors keep their names.
        reference: The reference, with the candidate's names.
        pairing: Pairs of tensors of the two models.
        reference_graph: The reference's model under these names.
    """

    candidate: PartitionedRun
    reference: PartitionedRun
    pairing: Pairing
    reference_graph: SharedGraph


def align(
    candidate: PartitionedRun,
    reference: PartitionedRun,
    inputs: TensorMetadata,
    known_pairs: Mapping[str, str] | None = None,
    ends: Set[str] = frozenset(),
) -> Aligned:
    """Align the graphs of two backends: the same operators between tensors of the same names.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        inputs: Types and shapes of what will be fed.
        known_pairs: Names in the candidate's model -> names in the reference's, of tensors known to belong together.
        ends: Names of outputs of both models, also of those that operators read.
    """
    candidate_side, reference_side = ModelSide(candidate.graph, inputs, ends), ModelSide(reference.graph, inputs, ends)
    pairing = pair_sides(candidate_side, reference_side, known_pairs)
    joint = join(pairing, candidate_side, reference_side)
    pairing = replace(pairing, matches=joint.matches)
    shown = tensor_outputs(reference.graph)
    outputs = tuple(name for name in tensor_outputs(candidate.graph) if joint.to_reference.get(name) in shown)
    reference_inputs = reference.graph.inputs
    all_inputs = merge_inputs([candidate.graph.inputs, reference.graph.inputs])
    candidate_names = {
        name: name for name in joint.to_reference if name in candidate.graph.inputs or name not in all_inputs
    }
    reference_names = {
        name: item for name, item in joint.to_reference.items() if name in reference_inputs or name not in all_inputs
    }
    uncut = {node.uncut: pairing.uncut[node.outputs[0]] for node in joint.nodes if node.uncut}
    weights = {weight_name(name): name for name in reference.graph.weights}
    weights = {name: weights[name] for node in joint.nodes for name in node.weights}
    graph = SharedGraph(reference_side, joint.nodes, {**reference_names, **uncut, **weights}, outputs, all_inputs)
    renamed_candidate = under_names(
        candidate, SharedGraph(candidate_side, joint.nodes, candidate_names, outputs, all_inputs)
    )
    return Aligned(renamed_candidate, under_names(reference, graph), pairing, graph)


def under_names(partitioned_run: PartitionedRun, graph: SharedGraph) -> PartitionedRun:
    """Rename the tensors of a backend.

    Args:
        partitioned_run: The backend.
        graph: The backend's model under these names.
    """

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        model_outputs = graph.side.graph.outputs
        inner = any(graph.model_names[name] not in model_outputs for name in graph.outputs)
        if loader is None and (inner or not graph.side.graph.opaque.isdisjoint(model_outputs)):
            loader = graph.mark(graph.outputs)  # of the model's own outputs none has a counterpart, or one is no tensor
        part = loader if isinstance(loader, SharedPart) else None
        model_loader = loader if part is None else part.loader
        return SharedRunner(partitioned_run.make(model_loader, same_inputs), graph, part)

    def join(parts: Mapping[str, Loader[Any]]) -> SharedPart:
        assert partitioned_run.join is not None
        return join_parts(
            partitioned_run.join, {key: part for key, part in parts.items() if isinstance(part, SharedPart)}
        )

    joining = join if partitioned_run.can_join else None
    return partitioned_run.through(graph, make, lambda run: under_names(run, graph), joining)


def join_parts(join: JoinParts, parts: Mapping[str, SharedPart]) -> SharedPart:
    """Return several parts as one.

    Args:
        join: Joins parts of the model under its own names.
        parts: The parts, by the prefix that the names of their tensors get.
    """
    model_names = {
        prefix + name: prefix + part.model_names[name]
        for prefix, part in parts.items()
        for name in (*part.inputs, *part.outputs)
        if name in part.model_names
    }
    return SharedPart(
        join({prefix: part.loader for prefix, part in parts.items() if part.calculates}),
        tuple(prefix + name for prefix, part in parts.items() for name in part.inputs),
        tuple(prefix + name for prefix, part in parts.items() for name in part.outputs),
        model_names,
        any(part.calculates for part in parts.values()),
    )


class SharedGraph:
    """One of two paired models, as `polycmp.graph.ModelGraph` describes, with the names and operators of the pairs.

    Args:
        side: The model.
        nodes: The operators of both models together.
        model_names: The model's own name of each tensor; inputs that only the other model has are missing.
        outputs: The outputs of both models that belong together.
        inputs: The inputs of both models: what a caller feeds.
    """

    def __init__(
        self,
        side: ModelSide,
        nodes: Sequence[GraphNode],
        model_names: Mapping[str, str],
        outputs: tuple[str, ...],
        inputs: TensorMetadata,
    ) -> None:
        self.side = side
        self.nodes = nodes
        self.model_names = model_names
        self.outputs = outputs
        self.inputs = inputs
        self.opaque: frozenset[str] = frozenset()
        self.seen: dict[str, np.dtype[Any]] = {}

    @property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of what the model holds."""
        return {name: size for name, size in self.side.graph.weights.items() if name not in self.model_names}

    @property
    def finals(self) -> frozenset[str]:
        """Names of the tensors that are the model's own outputs."""
        return frozenset(name for name, model_name in self.model_names.items() if model_name in self.side.finals)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the tensors' types and shapes as far as they are known."""
        fed = TensorMetadata(
            {self.model_names[name]: entry for name, entry in inputs.items() if name in self.model_names}
        )
        known, types = self.side.graph.types(fed), TensorMetadata()
        for name, model_name in self.model_names.items():
            entry = known.get(model_name)
            if entry is not None:
                types.add(name, entry.dtype if self.steps(model_name) is None else _DECODED_DTYPE, entry.shape)
        return types

    def values(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the values of weights, by the names that they have beside those of pairs."""
        values = weight_values(self.side.graph, [self.model_names[name] for name in names])
        return {name: values[self.model_names[name]] for name in names if self.model_names[name] in values}

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part that computes tensors from others."""
        declared = TensorMetadata()
        for name, entry in inputs.items():
            if name not in self.model_names:
                continue  # the other model's alone
            declared.add(self.model_names[name], self.kind(self.model_names[name], entry.dtype), entry.shape)
        computed = [name for name in dict.fromkeys(self.model_names[item] for item in outputs) if name not in declared]
        return SharedPart(
            self.side.graph.cut(declared, computed), tuple(inputs), tuple(outputs), self.model_names, bool(computed)
        )

    def mark(self, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the whole model with these outputs instead of its own."""
        model_outputs = list(dict.fromkeys(self.model_names[name] for name in outputs))
        return SharedPart(self.side.graph.mark(model_outputs), tuple(self.inputs), tuple(outputs), self.model_names)

    def steps(self, model_name: str) -> Quantisation | None:
        """Return the scale and zero point of the codes in a tensor; None if it holds numbers."""
        return self.side.codes.get(model_name)

    def kind(self, model_name: str, fed: Any) -> Any:
        """Return the element type in which the model has a tensor, where another may be fed."""
        steps = self.steps(model_name)
        if steps is not None:
            return steps.dtype
        entry = self.side.types.get(model_name)
        known = entry.dtype if entry is not None and entry.dtype is not None else self.seen.get(model_name)
        return fed if known is None else known


class SharedPart(Loader[Any]):
    """A part of one of two paired models.

    Args:
        loader: Makes it.
        inputs: Inputs of the part, in the names of the pairs.
        outputs: Outputs of the part, in the names of the pairs.
        model_names: The model's own name of each of them.
        calculates: Whether it makes anything that it does not read.
    """

    def __init__(
        self,
        loader: Loader[Any],
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        model_names: Mapping[str, str],
        calculates: bool = True,
    ) -> None:
        self.loader = loader
        self.model_names = model_names
        self.inputs = inputs
        self.outputs = outputs
        self.calculates = calculates

    def call_impl(self) -> Any:
        """Load the part."""
        return self.loader()


class SharedRunner(Runner):
    """Runs one of two paired models, or a part of it, with the names of the pairs and in the model's own types.

    Args:
        runner: Runs it under its own names.
        graph: The names.
        part: The part to run; None for the whole model with its own outputs.
    """

    def __init__(self, runner: Runner, graph: SharedGraph, part: SharedPart | None) -> None:
        super().__init__(runner.name)
        self.outputs_stay_valid = runner.outputs_stay_valid
        self._runner = runner
        self._graph = graph
        self._input_names = tuple(graph.inputs) if part is None else part.inputs
        self._output_names = graph.outputs if part is None else part.outputs
        self._model_names = graph.model_names if part is None else part.model_names
        self._calculates = part is None or part.calculates

    def activate_impl(self) -> None:
        """Activate the runner underneath, where there is anything to calculate."""
        if self._calculates:
            self._runner.activate()
            self.backend_version = self._runner.backend_version

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs' names and shapes; real numbers of every type are taken."""
        inputs = TensorMetadata()
        known = self._runner.get_input_metadata() if self._calculates else TensorMetadata()
        for name in self._input_names:
            model_name = self._model_names.get(name, "")
            entry = known.get(model_name)
            real = entry is None or entry.dtype is None or is_floating(entry.dtype)
            real = real or self._graph.steps(model_name) is not None
            inputs.add(name, None if real or entry is None else entry.dtype, None if entry is None else entry.shape)
        return inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs by the names of the pairs."""
        model_names = self._model_names
        arrays = {model_names[name]: array for name, array in feed_dict.items() if name in model_names}
        outputs: dict[str, Any] = {}
        if self._calculates:
            inputs = self._runner.get_input_metadata()
            feed = {name: self._as_codes(name, arrays[name]) for name in inputs}
            outputs = self._runner.infer(
                {name: _as_kind(feed[name], entry.dtype) for name, entry in inputs.items()}, check_inputs=False
            )
            self.inference_time = self._runner.last_inference_time()
        for name, array in outputs.items():
            self._graph.seen.setdefault(name, dtype_of(array))
        return {
            name: self._as_numbers(model_names[name], outputs[model_names[name]])
            if model_names[name] in outputs
            else arrays[model_names[name]]
            for name in self._output_names
        }

    def _as_codes(self, model_name: str, array: Any) -> Any:
        """Return the codes of what is fed in their place."""
        steps = self._graph.steps(model_name)
        return array if steps is None or not is_floating(dtype_of(array)) else steps.codes(array)

    def _as_numbers(self, model_name: str, array: Any) -> Any:
        """Return the numbers that codes represent, since comparisons do not know codes."""
        steps = self._graph.steps(model_name)
        return array if steps is None or is_floating(dtype_of(array)) else steps.numbers(array)

    def deactivate_impl(self) -> None:
        """Deactivate the runner underneath."""
        self._runner.deactivate()
        self.notes.extend(note for note in self._runner.notes if note not in self.notes)


def _as_kind(array: Any, kind: np.dtype[Any] | None) -> Any:
    """Return real numbers in the type that a model reads; what is beyond its range becomes infinite."""
    if kind is None or dtype_of(array) == kind or not (is_floating(kind) and is_floating(dtype_of(array))):
        return array
    with np.errstate(all="ignore"):
        return to_numpy(array).astype(kind)


def behind(graph: SharedGraph, tensor: str, inputs: Collection[str]) -> list[GraphNode]:
    """Return the operators of a side's file that make a tensor of others, the last one first.

    Args:
        graph: The side's graph.
        tensor: The tensor, by the name that both sides share.
        inputs: The tensors that it is made of, likewise.
    """
    waiting = [graph.model_names[tensor]]
    seen = {graph.model_names[name] for name in inputs if name in graph.model_names}
    nodes = []
    while waiting:
        name = waiting.pop()
        node = None if name in seen else graph.side.maker.get(name)
        seen.add(name)
        if node is not None:
            nodes.append(node)
            waiting.extend(node.inputs)
    return nodes


def file_graph(graph: ModelGraph) -> ModelGraph:
    """Return the graph of a model by its own names, whether it is searched alone or beside another."""
    return graph.side.graph if isinstance(graph, SharedGraph) else graph


def declared_graph(graph: ModelGraph) -> DeclaredGraph | None:
    """Return the graph of a file by its own names, as `file_graph` does; None of others."""
    model_graph = file_graph(graph)
    return model_graph if isinstance(model_graph, DeclaredGraph) else None
