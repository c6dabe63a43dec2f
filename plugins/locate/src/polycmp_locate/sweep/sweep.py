"""One pass over the model in windows: every tensor of the candidate against the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polycmp.compare import PairComparer
from polycmp.graph import GraphNode
from polycmp.layerwise import Window, Windows, final_outputs
from polycmp.precision import UNITS
from polycmp.spec import Compared
from polycmp.tensors import Feed, dtype_of, is_floating, to_numpy
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import least_scale
from polycmp_locate.setting import Look, Setting, Stage, Tensors, all_tensors, allowed_type
from polycmp_locate.sweep.layouts import turned
from polycmp_locate.sweep.rows import after_inputs, make_row
from polycmp_locate.sweep.stepping import SteppingRun, borrowed_operators
from polycmp_locate.values.swept import Swept, SweptRow, SweptWindow

#: Elements of a model up to which it is also calculated in float64 by a slow evaluator.
FLOAT64_ELEMENTS = 1 << 22
#: Tensors that differ at which reports look; errors after them follow from these.
_LOOKS = 10


@dataclass(frozen=True)
class Way:
    """The way through a model, open for as many passes as it takes.

    Attributes:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        windows: The windows; candidate first, reference second, and possibly float64 third.
        has_float64: Whether a backend that calculates in float64 goes along.
        any_layout: Whether tensors that hold the same numbers in another layout are alike, as no output fails.
    """

    setting: Setting
    feed: Feed
    windows: Windows
    has_float64: bool = False
    any_layout: bool = False


@contextmanager
def open_way(setting: Setting, feed: Feed, *, any_layout: bool = False) -> Iterator[Way]:
    """Open the way through a model; all runners that it keeps are closed at the end.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        any_layout: As in `Way`.
    """
    windows = Windows([setting.candidate, setting.reference], all_tensors(setting.reference.graph), setting.max_memory)
    windows.plan(feed)
    affordable = setting.precise is not None and _elements(windows) <= FLOAT64_ELEMENTS
    if setting.precise is not None and affordable:
        windows.partitioned_runs.append(setting.precise)
    try:
        yield Way(setting, feed, windows, affordable, any_layout)
    finally:
        windows.close()


def _elements(windows: Windows) -> int:
    """Return about how many numbers the model's tensors and weights hold."""
    sizes = windows.layout.sizes if windows.layout is not None else {}
    return (sum(sizes.values()) + sum(windows.graph.weights.values())) // 4


def sweep(way: Way, on_stage: Stage = lambda _: None, look: Look | None = None) -> Swept:
    """Go through a model; nothing runs before the first window is asked for.

    Args:
        way: The way through it.
        on_stage: Told what happens next.
        look: Called with both sides of the first tensors that differ; None for none.
    """
    layout = way.windows.layout
    return Swept(
        _Sweep(way, on_stage, look).windows(),
        frozenset(layout.static) if layout is not None else frozenset(),
        tuple(tuple(segment.wanted) for segment in way.windows.segments),
        way.windows.memory,
        borrowed=borrowed_operators(way.setting.reference),
    )


class _Sweep:
    """One pass; it holds rows of figures, and no tensors."""

    def __init__(self, way: Way, on_stage: Stage, look: Look | None) -> None:
        setting = way.setting
        self._way, self._on_stage, self._look = way, on_stage, look
        self._candidate, self._reference = setting.candidate, setting.reference
        self._precise = setting.precise if way.has_float64 else None
        self._final = frozenset(final_outputs(self._reference.graph))
        self._nodes: dict[str, GraphNode] = {
            name: node for node in self._reference.graph.nodes for name in node.outputs
        }
        self._allowed = allowed_type(self._candidate, self._reference)
        self._coarsest = UNITS.get(self._allowed, 0.0)
        self._rows: dict[str, SweptRow] = {}
        self._looked = 0

    def windows(self) -> Iterator[SweptWindow]:
        """Yield the windows until a side fails."""
        labels = {self._candidate.label, self._reference.label}
        comparer = PairComparer(self._candidate.label, self._reference.label, self._way.setting.functions)
        for window, outputs in self._outputs():
            if not labels <= set(outputs):
                return
            swept = self._window(window, comparer, outputs)
            yield swept
            swept.reference.clear()
            swept.candidate.clear()

    def _outputs(self) -> Iterator[tuple[Window, Mapping[str, Tensors]]]:
        windows = self._way.windows
        compiled = [run for run in windows.partitioned_runs if run.compiles]
        for run in compiled:
            count = len(windows.segments)
            some = f"{count} windows" if count > 1 else "one window"
            run.on_stage = self._on_stage
            self._on_stage(
                f"{run.label} builds the model with all its tensors as outputs, in {some}"
                f"{run.forecast.text(len(run.graph.nodes))}"
            )
        for window, outputs in windows.windows(self._way.feed, keep=bool(compiled)):
            self._on_stage(f"operators {window.segment.start} to {window.segment.stop}")
            yield window, outputs
            if window.last:
                for run in windows.partitioned_runs:
                    run.finish()

    def _window(self, window: Window, comparer: PairComparer, outputs: Mapping[str, Tensors]) -> SweptWindow:
        actual, expected = outputs[self._candidate.label], outputs[self._reference.label]
        truth = outputs.get(self._precise.label) if self._precise is not None else None
        rows: dict[str, SweptRow] = {}
        shown = {**actual, **dict(turned(actual, expected))} if self._way.any_layout else actual
        for item in comparer.add(shown, expected):
            name = item.output
            if name not in actual or name not in expected:
                continue
            row = make_row(self._nodes[name], item, shown[name], expected[name], self._allowed)
            if truth is not None and name in truth and is_floating(dtype_of(truth[name])):
                row = self._beside_float64(row, actual[name], expected[name], truth[name])
            self._rows[name] = rows[name] = row = self._after_inputs(row)
            if self._look is not None and not row.passed and self._looked < _LOOKS:
                self._looked += 1
                self._look(
                    Compared(0, self._candidate.label, self._reference.label, name, actual[name], expected[name])
                )
        finals = [name for name in window.segment.wanted if name in self._final]
        return SweptWindow(
            rows,
            {**self._reference.tensors, **expected},
            {**self._candidate.tensors, **actual},
            {name: np.array(to_numpy(actual[name])) for name in finals if name in actual},
            {name: np.array(to_numpy(expected[name])) for name in finals if name in expected},
        )

    def _beside_float64(self, row: SweptRow, actual: Any, expected: Any, truth: Any) -> SweptRow:
        least = least_scale(row.node.op_type, row.type)
        row = replace(row, truth=(distance(actual, truth, least), distance(expected, truth, least)))
        if row.tensor not in self._final or not row.passed:
            return row
        kind = to_numpy(expected).dtype
        passes = self._way.setting.passes(row.tensor)
        return replace(row, truth_passed=passes(to_numpy(truth).astype(kind), to_numpy(expected)))

    def _after_inputs(self, row: SweptRow) -> SweptRow:
        before = [self._rows[name] for name in row.node.inputs if name in self._rows]
        fed = [self._candidate.tensors.get(name) for name in row.node.inputs if name not in self._rows]
        borrowed = isinstance(self._reference, SteppingRun) and self._reference.lacks(row.node)
        arrays = [array for array in fed if array is not None]
        return after_inputs(row, before, arrays, self._coarsest, borrowed=borrowed)
