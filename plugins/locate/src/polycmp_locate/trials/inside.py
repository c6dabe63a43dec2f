"""A search inside If, Loop and Scan: their first iteration, or the branch that is taken, as a model of its own.

Asked where such an operator is named. It takes a run of the reference for what the operator reads, and a search of the
graph inside with both sides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polycmp.graph import ModelGraph, NestingGraph
from polycmp.layerwise import PartitionedRun
from polycmp.loader import Loader
from polycmp.runner import Runner
from polycmp.tensors import Feed
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import Judged


def enter(judged: Judged, setting: Setting, feed: Feed) -> tuple[Setting, Feed] | None:
    """Return the backends with the graph inside the operator that is named, and its inputs; None where there is none.

    Args:
        judged: The verdict.
        setting: The backends that were searched.
        feed: The inputs.
    """
    graph, row = setting.reference.graph, judged.first_bad
    if row is None or setting.pairing is not None or not isinstance(graph, NestingGraph):
        return None
    names = [name for name in row.node.inputs if name not in feed and name not in graph.weights]
    outputs = setting.reference.run_part(feed, names) if names else {}
    if outputs is None or any(name not in outputs for name in names):
        return None
    inside = graph.enter(row.node, {**{name: feed[name] for name in row.node.inputs if name in feed}, **outputs})
    if inside is None:
        return None
    entered = replace(
        setting,
        candidate=_with_graph(setting.candidate, inside[0]),
        reference=_with_graph(setting.reference, inside[0]),
        precise=None,
        judge_by_rounding=None,
        inner_rounding=None,
        judge_outputs=None,
        lacking=None,
        network=None,
        invented={},
    )
    return entered, inside[1]


def _with_graph(run: PartitionedRun, graph: ModelGraph) -> PartitionedRun:
    """Return the same backend with another model."""

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        return run.make(graph.mark(graph.outputs) if loader is None else loader, same_inputs)

    result = replace(run.result, notes=[], error="", hint="")
    return PartitionedRun(result, graph, make, run.needs, compiles=run.compiles, join=run.join)
