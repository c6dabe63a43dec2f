"""Recorded search for the smallest part, which can be stopped and continued."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.debug import Replay
from polycmp_locate.reduce.parts import ModelPart, PartCutter
from polycmp_locate.reduce.reduction import Reduction
from polycmp_locate.reduce.search import Judge, ReduceOptions, Reducer, State

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph

Stage = Callable[[str], None]


@dataclass(frozen=True)
class OutputFiles:
    """Files to write.

    Attributes:
        output: The failing model.
        passing: The passing model; empty for none.
        folder: The folder of a case; empty for none.
    """

    output: str
    passing: str = ""
    folder: str = ""


class RecordedSearch:
    """A search that records its steps, and that Ctrl-C ends with the result so far.

    Args:
        graph: The model.
        parts: Cuts parts out of it.
        judge: Judges a part.
        options: Options of the search.
        replay: Keeps the steps.
        on_stage: Told what happens next.
        suspects: Gives the positions of operators that may be at fault, once the whole model has failed.
    """

    def __init__(
        self,
        graph: ModelGraph,
        parts: PartCutter,
        judge: Judge,
        options: ReduceOptions,
        replay: Replay,
        on_stage: Stage,
        suspects: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self.reduction = Reduction(graph)
        self._judge, self._replay, self._on_stage = judge, replay, on_stage
        self._reducer = Reducer(parts, self._step, options, suspects)

    def run(self) -> Reduction:
        """Search; the result has no sentence yet."""
        try:
            if self._reducer.start(self.reduction.graph.outputs):
                self._reducer.reduce()
        except KeyboardInterrupt:
            if self._reducer.failing is None:
                raise
            self.reduction.stopped = True
            self.reduction.notes.append(
                "the search was stopped before its end; with --save-debug-replay FILE it can go on: "
                "--load-debug-replay FILE"
            )
        self.reduction.failing, self.reduction.passing = self._reducer.failing, self._reducer.nearest_passing()
        self.reduction.steps, self.reduction.replayed = len(self._reducer.judged), self._replay.taken
        return self.reduction

    def _step(self, part: ModelPart) -> State:
        index = len(self._reducer.judged)
        self._on_stage(f"step {index}: {part.size} operators")
        state = {"num_nodes": part.size, "inputs": list(part.inputs), "outputs": list(part.outputs)}
        known = self._replay.find(state)
        verdict: State = self._judge(part) if known is None else ("passes" if known else "fails")
        if verdict != "unknown":
            self._replay.add(index, "", state, verdict == "passes")
        return verdict
