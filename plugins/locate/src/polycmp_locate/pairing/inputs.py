"""Pairs of inputs with different names: the candidate's get the names of the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polycmp.data import InputPairs, pair_inputs, renamed
from polycmp.errors import ModelError
from polycmp.graph import GraphNode, ModelGraph, weight_values
from polycmp.layerwise import PartitionedRun, a_few
from polycmp.loader import Loader
from polycmp.runner import Runner
from polycmp.runs import ambiguous_inputs, compare_readers
from polycmp.tensors import TensorMetadata


def input_pairs(
    candidate: PartitionedRun,
    reference: PartitionedRun,
    known_pairs: Mapping[str, str],
    command: str = "",
    *,
    further: bool = True,
) -> InputPairs:
    """Match the inputs of two models.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        known_pairs: Names of one input in the two models, whichever way round.
        command: The command line, for messages.
        further: Whether the candidate may have inputs that the reference does not have.

    Raises:
        UsageError: It is not certain which are the same, or the candidate has some that it must not have.
        ModelError: A name of the reference's input is that of a tensor inside the candidate.
    """
    candidate_graph, reference_graph = candidate.graph, reference.graph
    pairs = pair_inputs(
        candidate_graph.inputs,
        reference_graph.inputs,
        known_pairs,
        lambda: compare_readers(candidate_graph, reference_graph),
    )
    if pairs.alone and (pairs.missing or not further):
        raise ambiguous_inputs(
            (candidate.label, candidate_graph.inputs), (reference.label, reference_graph.inputs), pairs, command
        )
    inner = {name for node in candidate_graph.nodes for name in node.outputs}
    clashes = sorted(inner.intersection([*pairs.names.values(), *pairs.missing]))
    if clashes:
        raise ModelError(
            f"{a_few(clashes)} of {reference.label} is an input, and in {candidate.label} a tensor inside the model",
            hint="rename it: polycmp surgeon extract MODEL --inputs …",
        )
    return pairs


def renamed_inputs(pairs: InputPairs) -> dict[str, str]:
    """Return the candidate's names of inputs that the reference names differently, by the reference's names."""
    return {name: candidate_name for candidate_name, name in pairs.names.items()}


def with_inputs(partitioned_run: PartitionedRun, names: Mapping[str, str]) -> PartitionedRun:
    """Rename the inputs of a backend's model.

    Args:
        partitioned_run: The backend.
        names: The model's own names, by those that it is to have.
    """

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        if isinstance(loader, _JoinedParts):
            return _RenamingRunner(partitioned_run.make(loader.loader, same_inputs), loader.names)
        return _RenamingRunner(partitioned_run.make(loader, same_inputs), names)

    def join(parts: Mapping[str, Loader[Any]]) -> _JoinedParts:
        assert partitioned_run.join is not None
        prefixed = {prefix + name: prefix + model_name for prefix in parts for name, model_name in names.items()}
        return _JoinedParts(partitioned_run.join(parts), prefixed)

    graph = _RenamedGraph(partitioned_run.graph, names)
    joining = join if partitioned_run.can_join else None
    return partitioned_run.through(graph, make, lambda run: with_inputs(run, names), joining)


class _JoinedParts(Loader[Any]):
    """Several parts of a model whose inputs have other names, as one model.

    Args:
        loader: Makes it.
        names: The parts' own names of inputs, by those that they are to have.
    """

    def __init__(self, loader: Loader[Any], names: Mapping[str, str]) -> None:
        self.loader, self.names = loader, names

    def call_impl(self) -> Any:
        """Load the parts."""
        return self.loader()


class _RenamedGraph:
    """A graph, as `polycmp.graph.ModelGraph` describes, whose inputs have other names.

    Args:
        graph: The graph.
        names: Names of the graph's own inputs, by the names that they are to have.
    """

    def __init__(self, graph: ModelGraph, names: Mapping[str, str]) -> None:
        self._graph, self._model_names = graph, names
        self._new_names = {model_name: name for name, model_name in names.items()}
        self.outputs = graph.outputs
        self.weights = graph.weights
        self.opaque = graph.opaque
        self.inputs = renamed(graph.inputs, self._new_names)
        self.nodes: Sequence[GraphNode] = [
            replace(node, inputs=self._renamed(node.inputs), operands=self._renamed(node.operands))
            for node in graph.nodes
        ]

    def _renamed(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._new_names.get(name, name) for name in names)

    def values(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the values of small weights."""
        return weight_values(self._graph, names)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the tensors' types and shapes as far as they are known."""
        return renamed(self._graph.types(renamed(inputs, self._model_names)), self._new_names)

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part that computes tensors from others."""
        return self._graph.cut(renamed(inputs, self._model_names), outputs)

    def mark(self, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the whole model with these outputs instead of its own."""
        return self._graph.mark(outputs)


class _RenamingRunner(Runner):
    """Runs a model whose inputs have other names.

    Args:
        runner: Runs it.
        names: The model's own names, by those of the feed.
    """

    def __init__(self, runner: Runner, names: Mapping[str, str]) -> None:
        super().__init__(runner.name)
        self.outputs_stay_valid = runner.outputs_stay_valid
        self._runner, self._model_names = runner, names
        self._new_names = {model_name: name for name, model_name in names.items()}

    def activate_impl(self) -> None:
        """Activate the runner underneath."""
        self._runner.activate()
        self.backend_version = self._runner.backend_version

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs by the names of the feed."""
        return renamed(self._runner.get_input_metadata(), self._new_names)

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs."""
        fed = {self._model_names.get(name, name): array for name, array in feed_dict.items()}
        outputs = self._runner.infer(fed, check_inputs=False)
        self.inference_time = self._runner.last_inference_time()
        return outputs

    def deactivate_impl(self) -> None:
        """Deactivate the runner underneath."""
        self._runner.deactivate()
        self.notes.extend(note for note in self._runner.notes if note not in self.notes)
