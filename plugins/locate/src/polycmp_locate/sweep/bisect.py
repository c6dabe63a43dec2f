"""Looking at few tensors, where a run is expensive: by bisection, those around the first bad one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polycmp.compare import PairComparer
from polycmp.graph import GraphNode
from polycmp.layerwise import GraphCuts, crossing, final_outputs, real_numbers
from polycmp.tensors import Feed, TensorMetadata
from polycmp_locate.ddmin import least_passing
from polycmp_locate.rounding.thresholds import accumulated_limit
from polycmp_locate.row_rules import is_off
from polycmp_locate.setting import Setting, Stage, allowed_type
from polycmp_locate.sweep.rows import in_order, make_row
from polycmp_locate.sweep.stepping import borrowed_operators
from polycmp_locate.sweep.sweep import Way
from polycmp_locate.values.swept import Swept, SweptRow, SweptWindow


def bisect(way: Way, on_stage: Stage = lambda _: None) -> Swept:
    """Look at few tensors of a model; nothing runs before the window is asked for.

    The first bad row is the model's first bad tensor, unless it is one that could not be looked at.

    A probe computes from the inputs the tensors alive at one place of the graph. It supposes that an error, once
    there, does not disappear again before the outputs.

    Args:
        way: The way through the model.
        on_stage: Told what happens next.
    """
    static = way.windows.layout.static if way.windows.layout is not None else set()
    bisection = _Bisection(way.setting, way.feed, frozenset(static), on_stage)
    return Swept(
        bisection.windows(),
        frozenset(static),
        memory=way.windows.memory,
        unseen=bisection.unseen,
        borrowed=borrowed_operators(way.setting.reference),
        is_whole=False,
    )


class _Bisection:
    def __init__(self, setting: Setting, feed: Feed, static: frozenset[str], on_stage: Stage) -> None:
        self._setting, self._feed, self._static, self._on_stage = setting, feed, static, on_stage
        self._graph = setting.reference.graph
        self._types = self._graph.types(TensorMetadata.from_feed_dict(feed))
        self._maker = {name: node for node in self._graph.nodes for name in node.outputs}
        self._position = {name: index for index, node in enumerate(self._graph.nodes) for name in node.outputs}
        self._final = frozenset(final_outputs(self._graph))
        self._rows: dict[str, SweptRow] = {}
        self.unseen: list[str] = []

    def windows(self) -> Iterator[SweptWindow]:
        """Yield one window, of all tensors that were looked at; the operator at the end of the search is chosen."""
        last = self._search()
        self.unseen.sort(key=self._position.__getitem__)
        reference, candidate = self._around(last) if last is not None else ({}, {})
        chosen = frozenset(last.outputs) if last is not None else frozenset[str]()
        yield SweptWindow(in_order(self._rows, self._position), reference, candidate, {}, {}, chosen)

    def _search(self) -> GraphNode | None:
        """Return the operator at which the error begins; None if the outputs show none."""
        nodes = self._graph.nodes
        layout = GraphCuts(self._graph, (), self._types)
        if not self._shows_in(self._final):
            return None
        last = least_passing(lambda position: self._shows_in(crossing(layout, position)), 0, len(nodes))
        self._shows_in(nodes[last - 1].outputs)
        return nodes[last - 1]

    def _shows_in(self, names: Iterable[str]) -> bool:
        """Look at some tensors; return whether one shows an error."""
        wanted = [name for name in names if name in self._position and name not in self._graph.opaque]
        self._on_stage(f"looking at {', '.join(wanted[:3])}")
        actual, expected = self._run(wanted) or self._run(real_numbers(wanted, self._types)) or ({}, {})
        self.unseen += [name for name in wanted if name not in actual and name not in self.unseen]
        candidate, reference = self._setting.candidate, self._setting.reference
        allowed = allowed_type(candidate, reference)
        shown = [
            make_row(self._maker[item.output], item, actual[item.output], expected[item.output], allowed)
            for item in PairComparer(candidate.label, reference.label, self._setting.functions).add(actual, expected)
        ]
        self._rows.update((row.tensor, row) for row in shown)
        return any(self._shows(row) for row in shown)

    def _shows(self, row: SweptRow) -> bool:
        """Return whether a tensor shows an error; an infinity without NaN may be absorbed, so it shows none itself."""
        of_candidate = row.candidate
        if row.tensor not in self._final and of_candidate is not None and of_candidate.inf and not of_candidate.nan:
            return False
        return is_off(row, accumulated_limit(self._position[row.tensor], row.unit))

    def _run(self, names: list[str]) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        """Return tensors as candidate and reference compute them from the inputs; None if one of them cannot."""
        outputs = self._setting.candidate.run_part(self._feed, names) if names else None
        expected = self._setting.reference.run_part(self._feed, names) if outputs is not None else None
        return None if outputs is None or expected is None else (outputs, expected)

    def _around(self, node: GraphNode) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tensors around an operator of the reference and the candidate; none if one cannot run up to it."""
        inner = [name for name in node.inputs if name not in self._static and name not in self._feed]
        sides = (self._setting.reference, self._setting.candidate)
        expected, outputs = (side.run_part(self._feed, [*inner, *node.outputs]) for side in sides)
        return (
            ({}, {}) if expected is None or outputs is None else ({**self._feed, **expected}, {**self._feed, **outputs})
        )
