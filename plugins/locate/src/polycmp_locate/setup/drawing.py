"""Operators that draw random numbers: both sides are given the same, so that all else can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polycmp.graph import RANDOM_OPERATORS, GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun, a_few, final_outputs
from polycmp.loader import Loader
from polycmp.runner import Runner
from polycmp.sentences import shortened
from polycmp.tensors import Feed, TensorMetadata, dtype_of, to_numpy
from polycmp_locate.setting import Setting
from polycmp_locate.setup.recorded import RecordedRun
from polycmp_locate.values.judged import DRAWN
from polycmp_locate.values.located import Located

#: Number of them that are named before the rest is counted.
_NAMED = 3


@dataclass(frozen=True)
class Drawn:
    """Random numbers that were drawn once.

    Attributes:
        nodes: The operators that draw them.
        tensors: Outputs of the operators that draw, by name.
        by: The backend on which they did.
        setting: The backends to search, given these numbers.
        feed: The inputs, with these numbers.
        outputs: The outputs of the model that are such numbers.
    """

    nodes: tuple[GraphNode, ...]
    tensors: Mapping[str, Any]
    by: str
    setting: Setting
    feed: Feed
    outputs: tuple[str, ...]

    @property
    def labels(self) -> str:
        """The operators for people, and that they draw."""
        names = shortened([node.label for node in self.nodes], _NAMED)
        return f"{names} {'draws' if len(self.nodes) == 1 else 'draw'} random numbers"

    def describe(self, located: Located) -> None:
        """Write down what they mean for what was found."""
        if located.exit_code or located.failed_backends:
            located.notes.append(f"{self.labels}: both sides were given those of {self.by}")
            return
        located.judged = replace(located.judged, verdict=DRAWN)
        lost = f"; {a_few(self.outputs)} cannot be compared" if self.outputs else ""
        with_the_same = f"; with the same ones on both: {located.sentence}" if located.sentence else ""
        located.sentence = f"{DRAWN}: {self.labels}, other ones on each side{lost}{with_the_same}"


def draw(setting: Setting, feed: Feed) -> Drawn | None:
    """Return the random numbers of a model, drawn once; None if it draws none, or no backend draws them alone.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
    """
    nodes = [node for node in setting.reference.graph.nodes if _draws(node, setting, feed)]
    if not nodes:
        return None
    is_over = isinstance(setting.reference, RecordedRun)  # what another drew is none of its numbers
    for side in (setting.reference,) if is_over else (setting.reference, setting.candidate):
        tensors = _drawn_by(side, nodes, feed)
        if tensors is not None:
            outputs = tuple(name for name in final_outputs(setting.reference.graph) if name in tensors)
            setting_with_draws = _replace_draws(setting, nodes, tensors)
            return Drawn(tuple(nodes), tensors, side.label, setting_with_draws, {**feed, **tensors}, outputs)
    return None


def _draws(node: GraphNode, setting: Setting, feed: Feed) -> bool:
    """Return whether an operator draws; a Dropout that does not train gives back what it reads."""
    if node.op_type in RANDOM_OPERATORS and not node.domain:
        return True
    if node.op_type != "Dropout" or len(node.inputs) < 3:
        return False
    read, drawn = node.inputs[0], node.outputs[0]
    seen = setting.reference.run_part(feed, [drawn, *([] if read in feed else [read])]) or {}
    tensors = {**feed, **seen}
    if drawn not in tensors or read not in tensors:
        return False
    return to_numpy(tensors[read]).tobytes() != to_numpy(tensors[drawn]).tobytes()


def _drawn_by(side: PartitionedRun, nodes: Sequence[GraphNode], feed: Feed) -> dict[str, Any] | None:
    """Return the numbers that operators draw on a backend, each from those before it; None if it cannot run them."""
    tensors: dict[str, Any] = {}
    for node in nodes:
        names = [name for name in node.outputs if name not in side.graph.opaque]
        outputs = side.run_part({**feed, **tensors}, names)
        if outputs is None or any(name not in outputs for name in names):
            return None
        tensors.update(outputs)
    return tensors


def _replace_draws(setting: Setting, nodes: Sequence[GraphNode], tensors: Mapping[str, Any]) -> Setting:
    precise = setting.precise
    return replace(
        setting,
        candidate=_with_inputs(setting.candidate, nodes, tensors),
        reference=_with_inputs(setting.reference, nodes, tensors),
        precise=_with_inputs(precise, nodes, tensors) if precise is not None else None,
    )


def _with_inputs(
    partitioned_run: PartitionedRun, nodes: Sequence[GraphNode], tensors: Mapping[str, Any]
) -> PartitionedRun:
    """Return a backend whose model takes some tensors as inputs in place of computing them."""
    graph = _GraphWithDraws(partitioned_run.graph, {name for node in nodes for name in node.outputs}, tensors)

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        return partitioned_run.make(graph.mark(graph.outputs) if loader is None else loader, False)

    return partitioned_run.through(graph, make, lambda run: _with_inputs(run, nodes, tensors), partitioned_run.join)


class _GraphWithDraws:
    """A graph, as `polycmp.graph.ModelGraph` describes, that takes tensors as inputs which it would compute.

    Args:
        graph: The graph.
        drawn: Names of the outputs of the operators that are left out.
        tensors: Given values of these outputs, by name.
    """

    def __init__(self, graph: ModelGraph, drawn: set[str], tensors: Mapping[str, Any]) -> None:
        self._graph, self._tensors = graph, tensors
        self.nodes = [node for node in graph.nodes if drawn.isdisjoint(node.outputs)]
        self.outputs = tuple(name for name in graph.outputs if name not in drawn)
        self.weights = graph.weights
        self.opaque = graph.opaque
        self.inputs = self._with_draws(graph.inputs)

    def _with_draws(self, known: TensorMetadata) -> TensorMetadata:
        """Return the types and shapes of tensors as far as they are known, those of the drawn ones included."""
        types = TensorMetadata()
        for name, entry in known.items():
            types.add(name, entry.dtype, entry.shape)
        for name, array in self._tensors.items():
            types.add(name, dtype_of(array), array.shape)
        return types

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the tensors' types and shapes as far as they are known."""
        model_inputs = TensorMetadata()
        for name, entry in inputs.items():
            if name not in self._tensors:
                model_inputs.add(name, entry.dtype, entry.shape)
        return self._with_draws(self._graph.types(model_inputs))

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the part that computes tensors from others."""
        return self._graph.cut(inputs, outputs)

    def mark(self, outputs: Sequence[str]) -> Loader[Any]:
        """Return a loader of the model with these outputs instead of its own."""
        return self._graph.cut(self.inputs, outputs)
