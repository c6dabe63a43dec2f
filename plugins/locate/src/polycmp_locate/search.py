"""One pass over the model in windows: every tensor of the candidate against the reference's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polycmp.compare.pair import PairComparer
from polycmp.graph import GraphNode
from polycmp.layerwise.windows import Window, Windows
from polycmp.precision import granted
from polycmp.tensors import Feed, dtype_of, is_floating, to_numpy
from polycmp_locate.figures import figures
from polycmp_locate.measure import NodeProbe, distance, make_row, unit_of
from polycmp_locate.result import Row
from polycmp_locate.words import MARGIN

Functions = Mapping[str, Callable[..., Any]]
Tensors = Mapping[str, Any]

#: An error that grows by more than this in one operator is looked at closely.
JUMP = 8.0
#: Operators that one pass runs alone; each costs a session of its own.
_MOST_OWN = 24
_MOST_DISTRUSTED = 256


@dataclass
class Sweep:
    """What a pass over the model found.

    Attributes:
        rows: A row per tensor that both sides computed, in the order of the graph.
        finals: The model's final outputs as the candidate made them with probes.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    finals: dict[str, Any] = field(default_factory=dict)


def _growth(after: float, before: float) -> float:
    if math.isinf(before):
        return 1.0
    return math.inf if before == 0.0 else after / before


def worth_running(unit: float) -> float:
    """Return the relative error from which on an operator is run alone, which may take the build of an engine.

    What rounding explains is no fault, whatever the operator does alone.
    """
    return MARGIN * granted(unit)


class Sweeper:
    """Goes through a model once per feed.

    Args:
        windows: The way through; candidate first, reference second, and possibly float64 third.
        functions: What judges a tensor, by name.
        final: Names of the model's outputs.
        probe: Runs single operators.
    """

    def __init__(self, windows: Windows, functions: Functions, final: tuple[str, ...], probe: NodeProbe) -> None:
        self.windows = windows
        self.functions = functions
        self.final = frozenset(final)
        self.probe = probe
        self.candidate, self.reference = windows.lanes[:2]
        self.precise = windows.lanes[2] if len(windows.lanes) > 2 else None
        self.nodes: dict[str, GraphNode] = {name: node for node in self.reference.graph.nodes for name in node.outputs}
        self.unit = unit_of(self.candidate, self.reference)
        self._measured = 0
        self._distrust = False
        self._failed = False

    def sweep(self, feed: Feed, on_stage: Callable[[str], None] = lambda _: None, *, distrust: bool = False) -> Sweep:
        """Compare every tensor for one feed.

        Args:
            feed: The inputs.
            on_stage: Told what happens next.
            distrust: Whether the accumulated errors are no evidence, so that every operator with one runs alone, too.
        """
        self._measured, self._distrust, self._failed = 0, distrust, False
        found = Sweep()
        comparer = PairComparer(self.candidate.label, self.reference.label, self.functions)
        for window, outputs in self._windows(feed, on_stage):
            # No local name may hold a window's tensors while the next one runs.
            if not {self.candidate.label, self.reference.label} <= set(outputs):
                break
            self._take(found, comparer, outputs)
            found.finals.update(
                {
                    name: np.array(to_numpy(outputs[self.candidate.label][name]))
                    for name in window.segment.wanted
                    if name in self.final
                }
            )
        return found

    def _windows(self, feed: Feed, on_stage: Callable[[str], None]) -> Iterator[tuple[Window, dict[str, Any]]]:
        for window, outputs in self.windows.windows(feed):
            on_stage(f"operators {window.segment.start} to {window.segment.stop}")
            yield window, outputs
            if window.last:
                for lane in self.windows.lanes:
                    lane.finish()

    def _take(self, found: Sweep, comparer: PairComparer, outputs: Mapping[str, Tensors]) -> None:
        made, expected = outputs[self.candidate.label], outputs[self.reference.label]
        truth = outputs.get(self.precise.label) if self.precise is not None else None
        for item in comparer.add(made, expected):
            name = item.output
            if name not in made or name not in expected:
                continue
            row = make_row(self.nodes[name], item, made[name], expected[name], self.unit)
            if truth is not None and name in truth and is_floating(dtype_of(truth[name])):
                row.truth = distance(made[name], truth[name]), distance(expected[name], truth[name])
            self._judge_inputs(row, found, made)
            found.rows[name] = row
            if self._is_interesting(row):
                self._look_closer(row, expected)

    def _judge_inputs(self, row: Row, found: Sweep, made: Tensors) -> None:
        """Fill in by how much the error grew in this operator, and whether it read finite numbers."""
        before = [found.rows[name] for name in row.node.inputs if name in found.rows]
        largest = max((item.relative for item in before), default=0.0)
        if row.relative:
            row.jump = _growth(row.relative, largest)
        row.inputs_finite = all(item.candidate is None or item.candidate.is_finite for item in before)
        if row.inputs_finite and row.candidate is not None and not row.candidate.is_finite:
            fed = [self.candidate.tensors.get(name) for name in row.node.inputs if name not in found.rows]
            known = [figures(array) for array in fed if array is not None]
            row.inputs_finite = all(item is None or item.is_finite for item in known)

    def _is_interesting(self, row: Row) -> bool:
        if self._distrust:
            return row.relative > worth_running(row.unit) and self._measured < _MOST_DISTRUSTED
        if not row.passed and not self._failed:
            self._failed = True
            return True
        if self._measured >= _MOST_OWN:
            return False
        return row.jump > JUMP and row.relative > worth_running(row.unit)

    def _look_closer(self, row: Row, expected: Tensors) -> None:
        self._measured += 1
        self.measure_own(row, {**self.reference.tensors, **expected}, self.candidate.dtype_of(row.tensor))

    def measure_own(self, row: Row, held: Tensors, kind: np.dtype[Any]) -> None:
        """Fill in an operator's own error and what it read.

        Args:
            row: Its output.
            held: The reference's tensors.
            kind: The candidate's type for real numbers.
        """
        static = self.windows.layout.static if self.windows.layout is not None else set()
        inputs = {name: held[name] for name in row.node.inputs if name in held and name not in static}
        row.inputs = {name: known for name, array in inputs.items() if (known := figures(array)) is not None}
        if all(name in inputs or name in static for name in row.node.inputs) and row.tensor in held:
            passed = self._passes(row.tensor)
            row.own = self.probe.own_error(row, inputs, to_numpy(held[row.tensor]), kind, passed)

    def _passes(self, output: str) -> Callable[[Any, Any], bool]:
        return lambda own, expected: all(
            function(own, expected, output=output).passed for function in self.functions.values()
        )
