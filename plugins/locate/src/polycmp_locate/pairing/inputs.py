"""Two models whose inputs have other names: the candidate's get the names of the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polycmp.errors import ModelError
from polycmp.graph import GraphNode, ModelGraph, weight_values
from polycmp.loader import Loader
from polycmp.runner import Runner
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_locate.pairing.matching import behind
from polycmp_locate.pairing.side import Side

#: How many operators behind inputs are looked at to tell those apart that are alike.
_DEPTHS = (4, 2, 1)


def input_names(candidate: PartitionedRun, reference: PartitionedRun) -> dict[str, str]:
    """Return the candidate's names of inputs that it calls otherwise, by the reference's.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.

    Raises:
        ModelError: More than one way to take them for each other fits, or none.
    """
    one, two = set(candidate.graph.inputs), set(reference.graph.inputs)
    if one <= two:
        return {}
    made = {name for node in candidate.graph.nodes for name in node.outputs}
    names = pair_inputs(candidate.graph, reference.graph)
    if names is None or not made.isdisjoint(names):
        raise ModelError(
            f"the model of {candidate.label} has an input that the model of {reference.label} has not: "
            f"{listed(sorted(one - two))}",
            why=f"the reference reads {listed(sorted(two))}; by types, shapes and what reads them more than one way "
            "fits, or none",
            hint="rename it: polycmp surgeon extract MODEL --inputs …",
        )
    return names


def listed(names: Sequence[str]) -> str:
    """Return some names as text."""
    return ", ".join(map(repr, names[:3])) + (", …" if len(names) > 3 else "") if names else "none"


def pair_inputs(candidate: ModelGraph, reference: ModelGraph) -> dict[str, str] | None:
    """Return the names of inputs that the candidate calls otherwise, by the reference's; None if that is not known.

    Inputs belong together whose kind of elements and shape fit and that alone are read by such operators, the more of
    those behind each other the better. What is read alike, too, belongs together in its order, where both
    models have as many.

    Args:
        candidate: The candidate's model.
        reference: The reference's.
    """
    left = [name for name in candidate.inputs if name not in reference.inputs]
    right = [name for name in reference.inputs if name not in candidate.inputs]
    mine, other = Side(candidate, candidate.inputs), Side(reference, reference.inputs)
    found: dict[str, str] = {}
    for depth in (*_DEPTHS, 0):
        fits = {
            one: [two for two in right if two not in found and _alike(mine, one, other, two, depth)]
            for one in left
            if one not in found.values()
        }
        for one, targets in fits.items():
            if len(targets) == 1 and sum(targets[0] in others for others in fits.values()) == 1:
                found[targets[0]] = one
    ones = [name for name in left if name not in found.values()]
    twos = [name for name in right if name not in found]
    if not ones:
        return found
    same = len(ones) == len(twos) and all(_alike(mine, one, other, two, 1) for one in ones for two in twos)
    return found | dict(zip(twos, ones, strict=True)) if same else None


def _alike(mine: Side, one: str, other: Side, two: str, depth: int) -> bool:
    """Return whether two inputs have the same kind of elements and shape, and are read by the same operators."""
    return _fit(mine.graph.inputs[one], other.graph.inputs[two]) and behind(mine, one, depth) == behind(
        other, two, depth
    )


def _fit(one: TensorEntry, two: TensorEntry) -> bool:
    if one.dtype is not None and two.dtype is not None and dtype_class(one.dtype) != dtype_class(two.dtype):
        return False
    if one.shape is None or two.shape is None:
        return True
    return len(one.shape) == len(two.shape) and all(
        a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in zip(one.shape, two.shape, strict=True)
    )


def with_inputs(partitioned_run: PartitionedRun, names: Mapping[str, str]) -> PartitionedRun:
    """Return a backend whose model's inputs have other names.

    Args:
        partitioned_run: The backend.
        names: The model's own names, by those that it is to have.
    """

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        own = loader.own if isinstance(loader, _Part) else loader
        return _Renaming(partitioned_run.make(own, same_inputs), names)

    variants = partitioned_run.variants
    return PartitionedRun(
        partitioned_run.result,
        _Renamed(partitioned_run.graph, names),
        make,
        partitioned_run.needs,
        variants=variants.through(lambda run: with_inputs(run, names)) if variants is not None else None,
    )


class _Renamed:
    """A graph, as `polycmp.graph.ModelGraph` describes, whose inputs have other names.

    Args:
        graph: The graph.
        names: Its own names, by those that it is to have.
    """

    def __init__(self, graph: ModelGraph, names: Mapping[str, str]) -> None:
        self._graph, self._own = graph, names
        self._new = {own: name for name, own in names.items()}
        self.outputs = graph.outputs
        self.weights = graph.weights
        self.opaque = graph.opaque
        self.inputs = _renamed(graph.inputs, self._new)
        self.nodes: Sequence[GraphNode] = [
            replace(node, inputs=self._renamed(node.inputs), operands=self._renamed(node.operands))
            for node in graph.nodes
        ]

    def _renamed(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._new.get(name, name) for name in names)

    def values(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the values of small weights."""
        return weight_values(self._graph, names)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return what is known of the tensors' types and shapes."""
        return _renamed(self._graph.types(_renamed(inputs, self._own)), self._new)

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part that computes tensors from others."""
        return _Part(self._graph.cut(_renamed(inputs, self._own), outputs))

    def mark(self, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the whole model with these outputs instead of its own."""
        return _Part(self._graph.mark(outputs))


def _renamed(metadata: TensorMetadata, names: Mapping[str, str]) -> TensorMetadata:
    found = TensorMetadata()
    for name, entry in metadata.items():
        found.add(names.get(name, name), entry.dtype, entry.shape)
    return found


class _Part(Loader[Any]):
    """A part of such a model.

    Args:
        own: Makes it, with the model's own names.
    """

    def __init__(self, own: Loader[Any]) -> None:
        self.own = own

    def call_impl(self) -> Any:
        """Return what the model's own loader makes."""
        return self.own()


class _Renaming(Runner):
    """Runs a model whose inputs have other names.

    Args:
        runner: Runs it.
        names: The model's own names, by those of the feed.
    """

    def __init__(self, runner: Runner, names: Mapping[str, str]) -> None:
        super().__init__(runner.name)
        self.outputs_stay_valid = runner.outputs_stay_valid
        self._runner, self._own = runner, names
        self._new = {own: name for name, own in names.items()}

    def activate_impl(self) -> None:
        """Activate the runner underneath."""
        self._runner.activate()
        self.backend_version = self._runner.backend_version

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs by the names of the feed."""
        return _renamed(self._runner.get_input_metadata(), self._new)

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs."""
        fed = {self._own.get(name, name): array for name, array in feed_dict.items()}
        made = self._runner.infer(fed, check_inputs=False)
        self.inference_time = self._runner.last_inference_time()
        return made

    def deactivate_impl(self) -> None:
        """Deactivate the runner underneath."""
        self._runner.deactivate()
        self.notes.extend(note for note in self._runner.notes if note not in self.notes)
