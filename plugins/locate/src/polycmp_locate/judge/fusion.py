"""Blaming operators that are right one by one and wrong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polycmp.graph import GraphNode, ModelGraph
from polycmp_locate.trials.fusion import around
from polycmp_locate.values.judged import FUSION, Fused, Judged, LeftOut, Probe, Together
from polycmp_locate.values.measured import Row


def blame_left_out(nobody: Judged, gone: LeftOut) -> Judged:
    """Return the verdict on operators that a backend leaves out.

    Args:
        nobody: The verdict that blames no operator.
        gone: The operators.
    """
    by_name = {row.tensor: row for row in nobody.rows}
    return replace(
        nobody,
        verdict=FUSION,
        first_bad=by_name.get(gone.made),
        last_good=by_name.get(gone.read),
        fused=Fused(gone.nodes),
        cause=gone,
    )


def blame_fused(
    nobody: Judged, probe: Probe, label: str, graph: ModelGraph, probes: tuple[str, ...], fused: Fused | None
) -> Judged:
    """Return the verdict on operators that a backend fuses.

    Args:
        nobody: The verdict that blames no operator.
        probe: Effect of the probes on the result.
        label: The backend.
        graph: The backend's model.
        probes: Tensors whose probing prevents the fault; empty if only cutting the model does.
        fused: Fusions that the backend reports; None if it reports none.
    """
    found = replace(nobody, verdict=FUSION, probe=replace(probe, kept=probes), cause=Together(label))
    if not probes:
        text = f"{probe.sentence}; no probes in the whole model prevent it, only cutting the model does"
        return replace(found, probe=replace(probe, sentence=text), fused=fused)
    if fused is not None and fused.replaced_by:
        made = {name for node in fused.nodes for name in node.outputs}
        inside = {name for node in fused.nodes for name in node.inputs} & made
        first = next((row for row in found.rows if row.tensor in made - inside), None)
        return replace(found, fused=fused, first_bad=first, last_good=_read_by(found.rows, fused.nodes))
    maker, readers = around(graph, probes[0])
    nodes = tuple(node for node in [maker, *readers] if node is not None)
    return replace(
        found,
        fused=Fused(nodes, cure=fused.cure if fused is not None else None),
        first_bad=next((row for row in found.rows if readers and row.tensor in readers[0].outputs), None),
        last_good=next((row for row in found.rows if row.tensor == probes[0]), None),
    )


def _read_by(rows: Sequence[Row], nodes: Sequence[GraphNode]) -> Row | None:
    """Return the last tensor that operators read and none of them makes; None if they read inputs only."""
    made = {name for node in nodes for name in node.outputs}
    read = {name for node in nodes for name in node.inputs} - made
    return next((row for row in reversed(rows) if row.tensor in read), None)
