"""Finding the first bad tensor with few probes, where a run is expensive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polycmp.compare import PairComparer
from polycmp.layerwise import Layout, crossing, real_numbers
from polycmp.tensors import Feed, TensorMetadata
from polycmp_locate.decisions import is_off
from polycmp_locate.flow import Flow
from polycmp_locate.judge import Evidence, Judgement, judge
from polycmp_locate.measure import make_row
from polycmp_locate.result import Located, Row
from polycmp_locate.rounding.thresholds import accumulated_limit
from polycmp_locate.search import Functions, Sweeper
from polycmp_locate.setting import Setting


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
            make_row(sweeper.nodes[item.output], item, made[item.output], expected[item.output], sweeper.allowed)
            for item in comparer.add(made, expected)
        ]
        rows.update((row.tensor, row) for row in found)
        return any(_shows(row, position[row.tensor], sweeper.final) for row in found)

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


def _shows(row: Row, place: int, final: frozenset[str]) -> bool:
    """Return whether a tensor shows an error; an infinity without NaN may be absorbed, so it shows none by itself."""
    mine = row.candidate
    if row.tensor not in final and mine is not None and mine.inf and not mine.nan:
        return False
    return is_off(row, accumulated_limit(place, row.unit, 0.0))


def judge_bisected(found: Located, setting: Setting) -> Judgement:
    """Return the verdict on the few tensors that were looked at, and write it down."""
    failing = {item.output: _relative(found, item.output) for item in found.finals if not item.passed}
    evidence = Evidence(
        found.rows,
        Flow(setting.reference.graph.nodes),
        failing,
        lambda place, unit, error: accumulated_limit(len(setting.reference.graph.nodes), unit, 0.0),
    )
    judgement = judge(evidence)
    found.first_bad, found.origin, found.last_good = judgement.first_bad, judgement.origin, judgement.last_good
    found.turning, found.verdict = judgement.turning, judgement.verdict
    return judgement


def _relative(found: Located, output: str) -> float:
    return next((row.relative for row in found.rows if row.tensor == output), 0.0)


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
        if name in rows:
            rows[name].was_tried = True
        if name in rows and name in expected and name in made:
            sweeper.measure(rows[name], {**feed, **expected}, {**feed, **made})
