"""Running single operators alone: those whose tensors are off by more than is known of their operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from polycmp.graph import GraphNode
from polycmp.tensors import dtype_name, dtype_of, is_floating
from polycmp_locate.measure.operators import OperatorTester
from polycmp_locate.pairing.parts import PartNode, rounds_to_steps
from polycmp_locate.rounding.figures import figures_of, largest_of
from polycmp_locate.rounding.kinds import ROUNDING_INSIDE
from polycmp_locate.rounding.thresholds import accumulated_limit
from polycmp_locate.row_rules import is_culprit, needs_explaining, needs_measuring, standalone_limit
from polycmp_locate.setting import Setting, Stage, Tensors, allowed_type
from polycmp_locate.values.measured import Extent, Measured, Row
from polycmp_locate.values.swept import Swept, SweptRow, SweptWindow

#: Operators that one pass runs alone, each in a session of its own; by count and not by time, so that a busy machine
#: says the same.
_MANY = 512
#: Tells of a tensor and how many were made before it whether its operator has to run alone.
Suspects = Callable[[SweptRow, int], bool]


def measure(
    swept: Swept,
    setting: Setting,
    on_stage: Stage = lambda _: None,
    extent: Extent = "suspects",
    suspects: Suspects | None = None,
) -> Measured:
    """Go through what was swept, and run operators alone while both sides' tensors are at hand.

    Args:
        swept: The tensors, window by window.
        setting: The backends to search, and the tools for it.
        on_stage: Told what happens next.
        extent: Choice of operators to run alone. All with an error do where the accumulated errors are no evidence.
        suspects: Chooses them in place of that.
    """
    chosen = suspects or (_needs_measuring if extent == "suspects" else _has_error)
    tester = _Tester(swept, setting, on_stage, chosen, None if extent == "all, any number" else _MANY)
    rows: list[Row] = []
    finals: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for window in swept.windows:
        rows += tester.test(window)
        finals.update(window.finals)
        expected.update(window.expected)
    return Measured(tuple(rows), finals, expected, swept.groups, tuple(swept.unseen), swept.borrowed, swept.is_whole)


def _needs_measuring(row: SweptRow, position: int) -> bool:
    if rounds_to_steps(row.node, row.unit):
        return _is_other(row)
    return needs_measuring(row, accumulated_limit(position, row.unit))


def _has_error(row: SweptRow, position: int) -> bool:
    del position
    if rounds_to_steps(row.node, row.unit):
        return _is_other(row)
    return needs_explaining(row)


def _may_jump(node: GraphNode) -> bool:
    """Return whether an operator or part decides by numbers that it has rounded itself."""
    return node.op_type in ROUNDING_INSIDE or (isinstance(node, PartNode) and len(node.members) > 1)


def _is_other(row: SweptRow) -> bool:
    return not row.is_matched and (row.stats is None or bool(row.max_abs))


class _Tester:
    """Runs the suspect operators of one window after the other.

    Args:
        swept: The pass over the model that the windows belong to.
        setting: The backends to search, and the tools for it.
        on_stage: Told what happens next.
        suspects: Chooses the operators that run alone.
        most: Largest number of operators to run; None for any number.
    """

    def __init__(self, swept: Swept, setting: Setting, on_stage: Stage, suspects: Suspects, most: int | None) -> None:
        self._swept, self._setting, self._on_stage = swept, setting, on_stage
        self._suspects, self._most = suspects, most
        self._tester = OperatorTester(setting.candidate, setting.reference, setting.precise)
        self._seen, self._ran = 0, 0
        self._made = frozenset(name for node in setting.reference.graph.nodes for name in node.outputs)

    def test(self, window: SweptWindow) -> list[Row]:
        """Return the rows of a window, with what was measured of their operators."""
        chosen = window.chosen
        suspects = [
            row for place, row in enumerate(window.rows.values(), self._seen)
            if (row.tensor in chosen if chosen is not None else self._suspects(row, place))
        ]  # fmt: skip
        self._seen += len(window.rows)
        if chosen is None and self._setting.candidate.can_join:
            self._run_together(suspects, window)
            running = self._tester.ran_together.keys()
        else:
            budget = None if self._most is None else max(0, self._most - self._ran)
            running = {row.tensor: None for row in suspects[:budget]}.keys()
            self._ran += len(running)
        names = {row.tensor for row in suspects}
        return [
            self._measured(row, window) if row.tensor in names & running
            else with_measured(row, was_postponed=row.tensor in names)
            for row in window.rows.values()
        ]  # fmt: skip

    def _run_together(self, rows: Sequence[SweptRow], window: SweptWindow) -> None:
        """Have operators run alone, each on the reference's tensors, in as few runners of the candidate as possible."""
        tensors_at_hand = {
            row.tensor: inputs
            for row in rows[: self._most]
            if (inputs := self._inputs(row, window.reference)) is not None
        }
        self._tester.ran_together = {}
        if tensors_at_hand:
            self._on_stage(
                f"{self._setting.candidate.label} builds {len(tensors_at_hand)} operators, each to run alone"
            )
            kinds = {name: dtype_of(array) for name, array in window.candidate.items()}
            self._tester.run_together(tensors_at_hand, kinds, self._swept.memory)

    def _measured(self, row: SweptRow, window: SweptWindow) -> Row:
        """Return a row with its operator's own error, alone and in its place, and what it read."""
        if window.chosen is None and not self._setting.candidate.can_join:
            self._on_stage(f"{row.node.label} runs alone")
        reference, candidate = window.reference, window.candidate
        inputs = self._inputs(row, reference)
        measured = with_measured(row, was_tried=True, inputs=figures_of(inputs or {}))
        if inputs is None or row.tensor not in reference:
            return measured
        kinds = {name: dtype_of(candidate[name]) for name in inputs if name in candidate}
        allowed = allowed_type(self._setting.candidate)
        largest = {name: largest_of(allowed or dtype_name(kind)) for name, kind in kinds.items() if is_floating(kind)}
        if any(measured.inputs[name].scale > most for name, most in largest.items() if name in measured.inputs):
            return measured  # what it makes of numbers that it cannot be given says nothing
        passes, own_inputs = self._setting.passes(row.tensor), self._inputs(row, candidate)
        expected: Tensors | None = reference
        alone = self._tester.standalone_error(row, inputs, reference[row.tensor], kinds, passes)
        if alone is None and own_inputs is not None:  # a run that is over shows what it made of its own tensors alone
            inputs, expected = own_inputs, self._setting.reference.run_part(own_inputs, [row.tensor])
            if expected is not None:
                alone = self._tester.standalone_error(row, inputs, expected[row.tensor], kinds, passes)
                alone = replace(alone, on_own=True) if alone is not None else None
        # Where a part rounds to steps, numbers that came to differ on the way are clipped elsewhere: no fault of it.
        in_place = not rounds_to_steps(row.node, row.unit) and own_inputs is not None and row.tensor in candidate
        if alone is not None and own_inputs is not None and in_place:
            in_model = self._tester.in_place_error(row, own_inputs, candidate[row.tensor])
            if in_model is not None:
                error, steps, gain = in_model
                alone = replace(alone, in_place=error, in_place_steps=steps, in_place_gain=gain)
                if error and not row.unit and not row.in_steps:
                    turned = self._tester.is_decided_otherwise(row, own_inputs, candidate[row.tensor])
                    alone = replace(alone, is_decided_otherwise=turned)
        measured = replace(measured, standalone=alone)
        if alone is not None and alone.steps is None and row.unit and _may_jump(row.node) and is_culprit(measured):
            right_output = expected[row.tensor] if expected is not None else reference[row.tensor]
            jumped = self._tester.with_jumps(alone, row, inputs, right_output, kinds, standalone_limit(measured))
            return replace(measured, standalone=jumped)
        return measured

    def _inputs(self, row: SweptRow, tensors: Tensors) -> dict[str, Any] | None:
        """Return the inputs that an operator does not compute for itself; None if some are not known."""
        static = self._swept.static
        # An operator that depends on weights alone is to run alone, too, and not with all those before it.
        constants = static - self._made if row.tensor in static else static
        inputs = {name: tensors[name] for name in row.node.inputs if name in tensors and name not in constants}
        return inputs if all(name in inputs or name in static for name in row.node.inputs) else None


def with_measured(row: SweptRow, **measured: Any) -> Row:
    """Return a row with what was measured of its operator.

    Args:
        row: The tensor.
        measured: Fields of `Row` that `SweptRow` has not.
    """
    swept: Mapping[str, Any] = {field.name: getattr(row, field.name) for field in fields(SweptRow)}
    return Row(**swept, **measured)
