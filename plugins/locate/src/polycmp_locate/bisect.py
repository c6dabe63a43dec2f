"""Finding the first bad tensor with few probes, where a run is dear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polycmp.compare.pair import PairComparer
from polycmp.layerwise.observable import real_numbers
from polycmp.layerwise.partition import Layout, crossing
from polycmp.tensors import Feed, TensorMetadata, to_numpy
from polycmp_locate.measure import make_row
from polycmp_locate.result import BENIGN, Row
from polycmp_locate.search import Functions, Sweeper
from polycmp_locate.words import classify


def bisect(
    sweeper: Sweeper, feed: Feed, functions: Functions, on_stage: Callable[[str], None] = lambda _: None
) -> tuple[list[Row], list[str]]:
    """Return the rows of the tensors looked at, in the order of the graph, and tensors that could not be looked at.

    The first bad row is the model's first bad tensor, unless it is one of those.

    A probe computes from the inputs the tensors alive at one place of the graph. It supposes that an error, once
    there, does not disappear again before the outputs.

    Args:
        sweeper: The backends.
        feed: The inputs.
        functions: What judges a tensor.
        on_stage: Told what happens next.
    """
    graph = sweeper.reference.graph
    types = graph.types(TensorMetadata.from_feed_dict(feed))
    layout = Layout(graph, (), types)
    position = {name: index for index, node in enumerate(graph.nodes) for name in node.outputs}
    rows: dict[str, Row] = {}
    unseen: set[str] = set()

    def look(names: Iterable[str]) -> bool:
        wanted = [name for name in names if name in position and name not in graph.opaque]
        on_stage(f"looking at {', '.join(wanted[:3])}")
        made, expected = _run(sweeper, feed, wanted) or _run(sweeper, feed, real_numbers(wanted, types)) or ({}, {})
        unseen.update(set(wanted) - set(made))
        comparer = PairComparer(sweeper.candidate.label, sweeper.reference.label, functions)
        found = [
            make_row(sweeper.nodes[item.output], item, made[item.output], expected[item.output], sweeper.unit)
            for item in comparer.add(made, expected)
        ]
        rows.update((row.tensor, row) for row in found)
        return any(classify(row) not in BENIGN for row in found)

    low, high = 0, len(graph.nodes)  # good before `low`, bad at `high`
    if look(sweeper.final):
        while high - low > 1:
            middle = (low + high) // 2
            if look(crossing(layout, middle)):
                high = middle
            else:
                low = middle
        look(graph.nodes[high - 1].outputs)
        _look_closer(sweeper, feed, rows, high - 1)
    return [rows[name] for name in sorted(rows, key=position.__getitem__)], sorted(unseen, key=position.__getitem__)


def _run(sweeper: Sweeper, feed: Feed, names: list[str]) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Return tensors as candidate and reference compute them from the inputs; None if one of them cannot."""
    made = sweeper.candidate.run_part(feed, names) if names else None
    expected = sweeper.reference.run_part(feed, names) if made is not None else None
    return None if made is None or expected is None else (made, expected)


def _look_closer(sweeper: Sweeper, feed: Feed, rows: dict[str, Row], index: int) -> None:
    """Measure the operator's own error."""
    node = sweeper.reference.graph.nodes[index]
    sweeper.windows.plan(feed)
    static = sweeper.windows.layout.static if sweeper.windows.layout is not None else set()
    inner = [name for name in node.inputs if name not in static and name not in feed]
    expected = sweeper.reference.run_part(feed, [*inner, *node.outputs]) or {}
    made = sweeper.candidate.run_part(feed, [*inner, *node.outputs]) or {}
    for name in node.outputs:
        if name in rows and name in expected and name in made:
            held = {**feed, **expected}
            sweeper.measure_own(rows[name], held, to_numpy(made[name]).dtype)
