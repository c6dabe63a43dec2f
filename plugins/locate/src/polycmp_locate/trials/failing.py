"""Finding the operator in which a backend fails: raises, crashes or never answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun, Windows
from polycmp.tensors import Feed, TensorEntry, dtype_of
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.rounding.figures import figures
from polycmp_locate.values.measured import Row


class Failing(NamedTuple):
    """The operator in which a backend fails.

    Attributes:
        row: The tensor that it makes; None if every operator runs alone, or every part of the graph, or none at all.
        ran_any: Whether anything was seen to run; all there is if that is a single operator.
    """

    row: Row | None
    ran_any: bool


def find_failing(
    candidate: PartitionedRun, windows: Windows, feed: Feed, on_stage: Callable[[str], None] = lambda _: None
) -> Failing:
    """Return the first tensor that the candidate cannot compute from the reference's tensors, or in another shape.

    Args:
        candidate: The backend that failed on the whole model.
        windows: The way of the reference alone through the graph.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    reference = windows.partitioned_runs[0]
    ran_any = len(reference.graph.nodes) == 1
    for window, outputs in windows.windows(feed):
        segment = window.segment
        on_stage(f"operators {segment.start} to {segment.stop}")
        held = {**reference.tensors, **outputs.get(reference.label, {})}
        inputs = {name: held[name] for name in segment.inputs if name in held}
        made = candidate.run_part(inputs, segment.outputs)
        if made is not None and not _resized(made, held):
            ran_any = True
            continue
        nodes = reference.graph.nodes[segment.start : segment.stop]
        for index, node in enumerate(nodes):
            row = _try_node(candidate, node, held, windows)
            if row is None:
                ran_any = ran_any or bool(_feed(node, held, windows)[1])
                continue
            # A backend that runs no operator at all does not fail at the first.
            others = (*nodes[:index], *nodes[index + 1 :])
            ran_any = ran_any or any(_runs(candidate, one, held, windows) for one in others)
            return Failing(row if row.reason or ran_any else None, ran_any)
    return Failing(None, ran_any)


def _runs(candidate: PartitionedRun, node: GraphNode, held: Mapping[str, Any], windows: Windows) -> bool:
    """Return whether the candidate was seen to run an operator alone."""
    inputs, outputs = _feed(node, held, windows)
    return bool(outputs) and candidate.run_part(inputs, outputs) is not None


def _feed(node: GraphNode, held: Mapping[str, Any], windows: Windows) -> tuple[dict[str, Any], list[str]]:
    """Return an operator's inputs and the names of its outputs; no names where it cannot be tried."""
    static = windows.layout.static if windows.layout is not None else set()
    inputs = {name: held[name] for name in node.inputs if name in held and name not in static}
    known = all(name in held or name in static for name in node.inputs)
    return inputs, [name for name in node.outputs if name in held] if known else []


def _try_node(candidate: PartitionedRun, node: GraphNode, held: Mapping[str, Any], windows: Windows) -> Row | None:
    inputs, outputs = _feed(node, held, windows)
    if not outputs:
        return None
    made = candidate.run_part(inputs, outputs)
    resized = _resized(made or {}, held)
    if made is not None and not resized:
        return None
    known = {name: value for name, array in inputs.items() if (value := figures(array)) is not None}
    expected = held[outputs[0]]
    kind = str(TensorEntry(dtype_of(expected), tuple(expected.shape)))
    return Row(outputs[0], node, kind, passed=False, reference=figures(expected), inputs=known, reason=resized)


def _resized(made: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Describe the tensors that have another shape than they should have; empty if there are none."""
    for name, array in made.items():
        if name in expected and tuple(array.shape) != tuple(expected[name].shape):
            return f"computes {name!r} with shape {list(array.shape)} instead of {list(expected[name].shape)}"
    return ""


def frozen_sizes(row: Row, graph: ModelGraph) -> str:
    """Return evidence for a size of the export's example inputs in the candidate's failure; empty if there is none.

    Args:
        row: The tensor that it fails to make.
        graph: The candidate's model.
    """
    if row.reason:
        return "; was it frozen to the example inputs of the export?"
    if not isinstance(graph, SharedGraph):
        return ""
    node = graph.side.maker.get(graph.own[row.tensor])
    if node is None or node.op_type not in {"Reshape", "Expand"} or not graph.side.static.issuperset(node.inputs[1:2]):
        return ""
    return "; its sizes are a constant in the file: those of the example inputs of the export?"
