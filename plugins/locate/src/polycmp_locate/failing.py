"""Finding the operator in which a backend fails: raises, crashes or never answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polycmp.graph import GraphNode
from polycmp.tensors import Feed, TensorEntry, dtype_of
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_layerwise.windows import Windows
from polycmp_locate.figures import figures
from polycmp_locate.result import Row


def find_failing(
    candidate: PartitionedRun, windows: Windows, feed: Feed, on_stage: Callable[[str], None] = lambda _: None
) -> Row | None:
    """Return the first tensor that the candidate cannot compute from the reference's tensors.

    None if it computes every operator alone, or every part of the graph.

    Args:
        candidate: The backend that failed on the whole model.
        windows: The way of the reference alone through the graph.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    reference = windows.partitioned_runs[0]
    for window, outputs in windows.windows(feed):
        segment = window.segment
        on_stage(f"operators {segment.start} to {segment.stop}")
        held = {**reference.tensors, **outputs.get(reference.label, {})}
        inputs = {name: held[name] for name in segment.inputs if name in held}
        if candidate.run_part(inputs, segment.outputs) is not None:
            continue
        for node in reference.graph.nodes[segment.start : segment.stop]:
            row = _try_node(candidate, node, held, windows)
            if row is not None:
                return row
    return None


def _try_node(candidate: PartitionedRun, node: GraphNode, held: Mapping[str, Any], windows: Windows) -> Row | None:
    static = windows.layout.static if windows.layout is not None else set()
    inputs = {name: held[name] for name in node.inputs if name in held and name not in static}
    outputs = [name for name in node.outputs if name in held]
    if not outputs or any(name not in held and name not in static for name in node.inputs):
        return None
    if candidate.run_part(inputs, outputs) is not None:
        return None
    known = {name: value for name, array in inputs.items() if (value := figures(array)) is not None}
    expected = held[outputs[0]]
    kind = str(TensorEntry(dtype_of(expected), tuple(expected.shape)))
    return Row(outputs[0], node, kind, passed=False, reference=figures(expected), inputs=known)
