"""One pass over the model in windows: every tensor of the candidate against the reference's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polycmp.compare import PairComparer
from polycmp.graph import GraphNode
from polycmp.layerwise import Window, Windows
from polycmp.precision import UNITS
from polycmp.spec import Compared
from polycmp.tensors import Feed, dtype_of, is_floating, to_numpy
from polycmp_locate.decisions import needs_explaining, needs_measuring
from polycmp_locate.measure import OperatorTester, allowed_type, distance, make_row, unit_of
from polycmp_locate.pairing.parts import rounds_to_steps
from polycmp_locate.result import Row
from polycmp_locate.rounding.figures import figures, rounding
from polycmp_locate.rounding.thresholds import accumulated_limit, least_scale
from polycmp_locate.setting import Look
from polycmp_locate.stepping import SteppingRun

Functions = Mapping[str, Callable[..., Any]]
Tensors = Mapping[str, Any]

#: Operators that one pass runs alone, each in a session of its own; by count and not by time, so that a busy machine
#: says the same.
_MANY = 512
#: Tensors that differ at which reports look; what is wrong behind them follows from these.
_LOOKS = 10


@dataclass
class Sweep:
    """What a pass over the model found.

    Attributes:
        rows: A row per tensor that both sides computed, in the order of the graph.
        finals: The model's final outputs as the candidate made them with probes.
        expected: The same of the reference.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    finals: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)


def _growth(after: float, before: float) -> float:
    if math.isinf(before):
        return 1.0
    return math.inf if before == 0.0 else after / before


class Sweeper:
    """Goes through a model once per feed.

    Args:
        windows: The way through; candidate first, reference second, and possibly float64 third.
        functions: What judges a tensor, by name.
        final: Names of the model's outputs.
        tester: Runs single operators.
        look: Called with both sides of the first tensors that differ.
    """

    def __init__(
        self,
        windows: Windows,
        functions: Functions,
        final: tuple[str, ...],
        tester: OperatorTester,
        look: Look | None = None,
    ) -> None:
        self._look, self._looked = look, 0
        self.windows = windows
        self.functions = functions
        self.final = frozenset(final)
        self.tester = tester
        self.candidate, self.reference = windows.partitioned_runs[:2]
        self.precise = windows.partitioned_runs[2] if len(windows.partitioned_runs) > 2 else None
        self.nodes: dict[str, GraphNode] = {name: node for node in self.reference.graph.nodes for name in node.outputs}
        self.allowed = allowed_type(self.candidate, self.reference)
        self.unit = unit_of(self.candidate, self.reference)
        self._measured = 0
        self._most: float = _MANY
        self._distrust = False
        self._on_stage: Callable[[str], None] = lambda _: None

    def sweep(
        self,
        feed: Feed,
        on_stage: Callable[[str], None] = lambda _: None,
        *,
        distrust: bool = False,
        patient: bool = False,
    ) -> Sweep:
        """Compare every tensor for one feed.

        Args:
            feed: The inputs.
            on_stage: Told what happens next.
            distrust: Whether the accumulated errors are no evidence, so that every operator with one runs alone, too.
            patient: Whether any number of operators runs alone, since the verdict hangs on one that was postponed.
        """
        self._measured, self._distrust, self._on_stage = 0, distrust, on_stage
        self._most = math.inf if patient else _MANY
        found = Sweep()
        comparer = PairComparer(self.candidate.label, self.reference.label, self.functions)
        for window, outputs in self._windows(feed):
            if not {self.candidate.label, self.reference.label} <= set(outputs):
                break
            self._take(found, comparer, outputs)
            for partitioned_run, finals in ((self.candidate, found.finals), (self.reference, found.expected)):
                made = outputs[partitioned_run.label]
                finals.update(
                    {name: np.array(to_numpy(made[name])) for name in window.segment.wanted
                     if name in self.final and name in made}
                )  # fmt: skip
        return found

    def _windows(self, feed: Feed) -> Iterator[tuple[Window, Mapping[str, Tensors]]]:
        self.windows.plan(feed)
        compiled = [partitioned_run for partitioned_run in self.windows.partitioned_runs if partitioned_run.compiles]
        for partitioned_run in compiled:
            count = len(self.windows.segments)
            windows = f"{count} windows" if count > 1 else "one window"
            expected = partitioned_run.forecast.text(len(partitioned_run.graph.nodes))
            partitioned_run.on_stage = self._on_stage
            self._on_stage(
                f"{partitioned_run.label} builds the model with all its tensors as outputs, in {windows}{expected}"
            )
        for window, outputs in self.windows.windows(feed, keep=bool(compiled)):
            self._on_stage(f"operators {window.segment.start} to {window.segment.stop}")
            yield window, outputs
            if window.last:
                for partitioned_run in self.windows.partitioned_runs:
                    partitioned_run.finish()

    def _take(self, found: Sweep, comparer: PairComparer, outputs: Mapping[str, Tensors]) -> None:
        made, expected = outputs[self.candidate.label], outputs[self.reference.label]
        truth = outputs.get(self.precise.label) if self.precise is not None else None
        interesting: list[Row] = []
        for item in comparer.add(made, expected):
            name = item.output
            if name not in made or name not in expected:
                continue
            row = make_row(self.nodes[name], item, made[name], expected[name], self.allowed)
            if truth is not None and name in truth and is_floating(dtype_of(truth[name])):
                self._compare_to_float64(row, made[name], expected[name], truth[name])
            row.is_borrowed = isinstance(self.reference, SteppingRun) and self.reference.lacks(row.node)
            self._judge_inputs(row, found, made)
            if self._look is not None and not row.passed and self._looked < _LOOKS:
                self._looked += 1
                self._look(Compared(0, self.candidate.label, self.reference.label, name, made[name], expected[name]))
            if self._is_interesting(row, len(found.rows)):
                interesting.append(row)
            found.rows[name] = row
        self._look_closer(interesting, made, expected)

    def _compare_to_float64(self, row: Row, made: Any, expected: Any, truth: Any) -> None:
        least = least_scale(row.node.op_type, row.type)
        row.truth = distance(made, truth, least), distance(expected, truth, least)
        if row.tensor in self.final and row.passed:
            kind = to_numpy(expected).dtype
            row.truth_passed = self._passes(row.tensor)(to_numpy(truth).astype(kind), to_numpy(expected))

    def _judge_inputs(self, row: Row, found: Sweep, made: Tensors) -> None:
        """Fill in by how much the error grew in this operator, and what kind of numbers it read."""
        before = [found.rows[name] for name in row.node.inputs if name in found.rows]
        largest = max((item.relative for item in before), default=0.0)
        if any(item.gain >= row.gain / 2 for item in before):
            row.gain = 0.0
        if row.relative:
            row.jump = _growth(row.relative, largest)
        row.inputs_finite = all(item.candidate is None or item.candidate.is_finite for item in before)
        fed = [self.candidate.tensors.get(name) for name in row.node.inputs if name not in found.rows]
        if row.inputs_finite and row.candidate is not None and not row.candidate.is_finite:
            known = [figures(array) for array in fed if array is not None]
            row.inputs_finite = all(item is None or item.is_finite for item in known)
        units = [rounding(dtype_of(array)) for array in fed if array is not None]
        if row.in_steps:
            row.input_unit = max(self.unit, UNITS["float32"], *(item.unit for item in before), *units, 0.0)
        coarsest = max((row.unit, *(item.path_unit for item in before), *units))
        row.path_unit = max(coarsest, UNITS["int8"]) if row.in_steps else coarsest

    def _is_interesting(self, row: Row, position: int) -> bool:
        if rounds_to_steps(row.node, row.unit):
            return not row.is_matched and bool(row.max_abs)
        if self._distrust:
            return needs_explaining(row)
        return needs_measuring(row, accumulated_limit(position, row.unit, 0.0))

    def _look_closer(self, rows: list[Row], made: Tensors, expected: Tensors) -> None:
        held, own = {**self.reference.tensors, **expected}, {**self.candidate.tensors, **made}
        if self.candidate.can_join:
            self._run_together(rows, held, own)
        for row in rows:
            ran = row.tensor in self.tester.ran_together if self.candidate.can_join else self._measured < self._most
            row.was_postponed = not ran
            if ran:
                self._measured += 1
                if not self.candidate.can_join:
                    self._on_stage(f"{row.node.label} runs alone")
                self.measure(row, held, own)

    def _run_together(self, rows: list[Row], held: Tensors, made: Tensors) -> None:
        """Have operators run alone, each on the reference's tensors, in as few runners of the candidate as possible."""
        known = {
            row.tensor: inputs
            for row in rows[: _MANY if self._most == _MANY else None]
            if (inputs := self._inputs(row, held)) is not None
        }
        if known:
            self._on_stage(f"{self.candidate.label} builds {len(known)} operators, each to run alone")
            kinds = {name: dtype_of(array) for name, array in made.items()}
            self.tester.run_together(known, kinds, self.windows.memory)

    def measure(self, row: Row, held: Tensors, made: Tensors) -> None:
        """Fill in an operator's own error, alone and in its place, and what it read.

        Args:
            row: Its output.
            held: The reference's tensors.
            made: The candidate's tensors.
        """
        inputs = self._inputs(row, held)
        row.inputs = {name: known for name, array in (inputs or {}).items() if (known := figures(array)) is not None}
        row.was_tried = True
        if inputs is None or row.tensor not in held:
            return
        passed = self._passes(row.tensor)
        kinds = {name: dtype_of(made[name]) for name in inputs if name in made}
        row.standalone = self.tester.standalone_error(row, inputs, held[row.tensor], kinds, passed)
        own_inputs = self._inputs(row, made)
        if rounds_to_steps(row.node, row.unit):
            return  # numbers that came to differ on the way are clipped elsewhere, which is no fault of this part
        if row.standalone is None or own_inputs is None or row.tensor not in made:
            return
        found = self.tester.in_place_error(row, own_inputs, made[row.tensor])
        if found is not None:
            error, steps, gain = found
            row.standalone = replace(row.standalone, in_place=error, in_place_steps=steps, in_place_gain=gain)

    def _inputs(self, row: Row, held: Tensors) -> dict[str, Any] | None:
        """Return what an operator reads and does not compute for itself; None if some of it is not known."""
        static = self.windows.layout.static if self.windows.layout is not None else set()
        # An operator that depends on weights alone is to run alone, too, and not with all those before it.
        given = static - self.nodes.keys() if row.tensor in static else static
        inputs = {name: held[name] for name in row.node.inputs if name in held and name not in given}
        return inputs if all(name in inputs or name in static for name in row.node.inputs) else None

    def _passes(self, output: str) -> Callable[[Any, Any], bool]:
        return lambda own, expected: all(
            function(own, expected, output=output).passed for function in self.functions.values()
        )
