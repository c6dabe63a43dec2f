"""Comparing the tensors inside a model in bounded memory: window after window of a graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

from polycmp.builtin.judging.structure import final_outputs, same_structure
from polycmp.builtin.layerwise.parallel import ParallelCalls
from polycmp.builtin.layerwise.partition import MOST_WEIGHTS, GraphCuts, Segment, memory_budget, plan_segments
from polycmp.builtin.layerwise.partitioned_run import PartitionedRun
from polycmp.builtin.layerwise.window_tensors import WindowTensors
from polycmp.graph import ModelGraph
from polycmp.messages import only_errors
from polycmp.runner import sharing_cores
from polycmp.runs import (
    BackendRun,
    Comparer,
    InputPairing,
    Schedule,
    Step,
    Tolerances,
    copy_feed,
    copy_outputs,
    open_feeds,
    sharing_memory,
)
from polycmp.tensors import Feed, Source, TensorMetadata

__all__ = ["Window", "Windows", "can_run_side_by_side", "comparable"]

#: Gives what each run makes of a segment, None for those that failed.
_Begun = Callable[[], Iterable[Mapping[str, Any] | None]]


@dataclass(frozen=True)
class Window:
    """One segment of one iteration.

    Attributes:
        segment: The segment that ran.
        number: Counted from 0 within the iteration.
        last: Whether the iteration ends with it.
    """

    segment: Segment
    number: int
    last: bool


class Windows:
    """Several backends going through one graph side by side.

    Args:
        partitioned_runs: The backends; their models have the same structure.
        wanted: The tensors to compare, in the order of the graph.
        max_memory: Bytes that the process may take beside the weights, 0 for a share of what is free.
        closed: Backends that show no tensors inside the model: they run all of it and have its outputs only.
        concurrent: Whether the backends may run at the same time, each in a thread and with its part of the cores.
        comparer_wrapper: Makes of a comparer one that also knows what to expect of the models.
        rounding: Makes of what judges outputs by measured rounding what judges the tensors inside, too.
        pairing: Tells which inputs of closed backends are the graph's where they call them otherwise.
        to_reference: Names in the reference's model of the graph's tensors, as far as they are called otherwise there.
    """

    def __init__(
        self,
        partitioned_runs: Sequence[PartitionedRun],
        wanted: Sequence[str],
        max_memory: int = 0,
        closed: Sequence[BackendRun] = (),
        *,
        concurrent: bool = False,
        comparer_wrapper: Callable[[Comparer], Comparer] = lambda comparer: comparer,
        rounding: Callable[[Tolerances], Tolerances] = lambda tolerances: tolerances,
        pairing: InputPairing | None = None,
        to_reference: Mapping[str, str] | None = None,
    ) -> None:
        self._pairing = pairing or InputPairing()
        self.to_reference: Mapping[str, str] = to_reference or {}
        self.comparer_wrapper = comparer_wrapper
        self.rounding = rounding
        self.partitioned_runs: list[PartitionedRun] = list(partitioned_runs)
        self._parallel: ParallelCalls[PartitionedRun] = ParallelCalls(len(self.partitioned_runs), concurrent=concurrent)
        self._closed = list(closed)
        self._held: dict[str, dict[str, Any]] = {}
        self.wanted: tuple[str, ...] = tuple(wanted)
        self.segments: list[Segment] = []
        self.layout: GraphCuts | None = None
        self._max_memory = max_memory

    @property
    def graph(self) -> ModelGraph:
        """The graph of the last run, the reference unless the caller says otherwise."""
        return self.partitioned_runs[-1].graph

    @cached_property
    def _finals(self) -> frozenset[str]:
        return frozenset(final_outputs(self.graph))

    def visible(self, label: str) -> frozenset[str] | None:
        """Return the tensors that a backend can show, None if all."""
        if any(run.label == label for run in self._closed):
            return self._finals
        hidden = next(
            (partitioned_run.hidden for partitioned_run in self.partitioned_runs if partitioned_run.label == label),
            None,
        )
        return frozenset(self.wanted) - hidden if hidden else None

    def steps(self, source: Source, schedule: Schedule) -> Generator[Step, None, None]:
        """Yield one step per window and feed of the data source.

        Raises:
            DataError: The data source fails or gives what is no feed.
        """
        iterator = map(copy_feed, open_feeds(source, self.graph.inputs))  # one is read ahead
        try:
            feed = next(iterator, None)
            index = 0
            while feed is not None:
                following = next(iterator, None)
                for window, outputs in self.windows(feed, schedule, keep=following is not None):
                    done = (
                        {partitioned_run.label: partitioned_run.finish() for partitioned_run in self.partitioned_runs}
                        if window.last
                        else {}
                    )
                    done.update({run.label: run.last_seconds for run in self._closed if window.last})
                    yield Step(index, feed, outputs, done, window.number)
                if not any(partitioned_run.is_well for partitioned_run in self.partitioned_runs):
                    return
                feed, index = following, index + 1
        finally:
            self.close()

    def windows(
        self, feed: Feed, schedule: Schedule | None = None, *, keep: bool = False
    ) -> Iterator[tuple[Window, WindowTensors]]:
        """Run all segments on one feed; yield each with the wanted tensors by run, held until the next.

        Args:
            feed: The inputs.
            schedule: Told what happens next.
            keep: Whether the sessions will be wanted again.
        """
        ahead = schedule is not None and schedule.ahead and self._parallel.is_concurrent
        self.plan(feed, ahead=ahead)
        keep = keep and self._weights_fit()
        begin = partial(self._begin, schedule=schedule, keep=keep, whole=len(self.segments) == 1)
        self._run_closed(feed)
        for partitioned_run in self.partitioned_runs:
            partitioned_run.begin(feed)
            if schedule is not None:
                partitioned_run.on_stage = schedule.on_stage
        begun: deque[_Begun] = deque()
        for number, segment in enumerate(self.segments):
            wait_for_it = begun.popleft() if begun else begin(segment)
            tensors = WindowTensors({**self._well(wait_for_it()), **self._of_closed(segment)})
            del wait_for_it  # what was begun holds what it gave
            if number == 0:
                ahead = ahead and all(partitioned_run.outputs_stay_valid for partitioned_run in self.partitioned_runs)
                begun.extend(begin(each, ahead=True) for each in self.segments[1 : 1 + ahead])
            with tensors, sharing_cores(len(self.partitioned_runs) + 1 if ahead else 1):
                yield Window(segment, number, number == len(self.segments) - 1), tensors
            # Not earlier, so that there are never the tensors of more than two windows.
            begun.extend(begin(each, ahead=True) for each in self.segments[number + 2 : number + 2 + ahead])

    def plan(self, feed: Feed, *, ahead: bool = False) -> None:
        """Choose the segments for inputs of these shapes; they stay the same afterwards.

        Args:
            feed: The inputs.
            ahead: Whether a segment may run while what the one before it gave is looked at.
        """
        if not self.segments:
            types = self.graph.types(TensorMetadata.from_feed_dict(feed))
            self.layout = GraphCuts(self.graph, self.wanted, types)
            runs, budget = len(self.partitioned_runs), self._budget(ahead=ahead)
            # Sessions hold copies of their weights, so these are limited like the tensors; a build of an engine costs
            # more than its memory.
            weights = None if any(run.compiles for run in self.partitioned_runs) else budget // runs
            self.segments = plan_segments(self.layout, budget, runs, MOST_WEIGHTS if ahead else weights)

    def close(self) -> None:
        """Close all sessions; an iteration that was stopped half way counts as far as it came."""
        self._parallel.close()
        for partitioned_run in self.partitioned_runs:
            if partitioned_run in self._parallel.busy:
                partitioned_run.sum_up()
                continue
            if partitioned_run.is_under_way:
                partitioned_run.finish()
            partitioned_run.close()
        for run in self._closed:
            run.deactivate()
        self._held.clear()

    def _run_closed(self, feed: Feed) -> None:
        for run in self._closed:
            if not run.is_active:
                run.activate()
                self._pairing.take_names(self.partitioned_runs[-1].result, self.graph.inputs)
                self._pairing.join([run])
                run.add_notes(f"inputs: {note}" for note in self._pairing.notes if run.label in note)
            outputs = run.infer(feed)
            self._held[run.label] = {} if outputs is None else copy_outputs(outputs)

    def _of_closed(self, segment: Segment) -> dict[str, Any]:
        shown = self._finals.intersection(segment.wanted) if self._closed else ()
        if not shown:
            return {}
        return {
            run.label: {name: self._held[run.label][name] for name in shown if name in self._held[run.label]}
            for run in self._closed
            if run.is_active
        }

    def _begin(
        self, segment: Segment, schedule: Schedule | None, *, keep: bool, whole: bool, ahead: bool = False
    ) -> _Begun:
        """Return the function that gives a segment's outputs by run; it starts at once if it runs ahead."""
        if schedule is not None:
            schedule.on_stage(f"operators {segment.start} to {segment.stop} of {len(self.graph.nodes)}")

        def run(partitioned_run: PartitionedRun) -> Mapping[str, Any] | None:
            # Where runs do not take turns, the level of logging, which is the process's, is none of theirs.
            with only_errors(unless=whole, of_thread=self._parallel.is_concurrent):
                return partitioned_run.run(segment, keep=keep, whole=whole)

        return (
            self._parallel.begin(run, self.partitioned_runs)
            if ahead
            else lambda: self._parallel.map(run, self.partitioned_runs)
        )

    def _well(self, outputs: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
        """Return the outputs of those runs that are well; one that has failed since then was so here."""
        well: dict[str, Mapping[str, Any]] = {}
        failed = set()
        for partitioned_run, run_outputs in zip(self.partitioned_runs, outputs, strict=True):
            if run_outputs is None:
                continue
            overwritten = sharing_memory(run_outputs, well)
            if overwritten:
                partitioned_run.fail(
                    f"puts its outputs into the same memory as {overwritten[0]}, which overwrites them",
                    "run each in its own process: --use-subprocess",
                )
                failed.add(partitioned_run.label)
            well[partitioned_run.label] = run_outputs
        return {label: run_outputs for label, run_outputs in well.items() if label not in failed}

    def _budget(self, *, ahead: bool = False) -> int:
        """Return the bytes for the tensors of one window; where runs are ahead there are those of two for a while."""
        graphs = {
            id(partitioned_run.graph): partitioned_run.graph for partitioned_run in self.partitioned_runs
        }.values()
        weights = sum(sum(graph.weights.values()) for graph in graphs)
        budget = memory_budget(
            self._max_memory, weights, few=any(partitioned_run.compiles for partitioned_run in self.partitioned_runs)
        )
        if not ahead:
            return budget
        # Most of the second is not there yet when the first is dropped: on MiniLM and ResNet-50, nine tenths take no
        # more memory than taking turns. What a user has set must hold even where that is not so.
        return budget // 2 if self._max_memory else budget * 9 // 10

    @property
    def memory(self) -> int:
        """The size limit of one window's tensors in bytes."""
        return self._budget()

    def _weights_fit(self) -> bool:
        return sum(self.graph.weights.values()) * len(self.partitioned_runs) <= self._budget()


def can_run_side_by_side(graphs: Sequence[ModelGraph | None]) -> bool:
    """Return whether backends with these models can go through them side by side, and rounding is the same in all."""
    first = graphs[0] if graphs else None
    return first is not None and all(graph is not None and same_structure(first, graph) for graph in graphs)


def comparable(graph: ModelGraph) -> list[str]:
    """Return a graph's outputs that its operators make, in the order in which they are made."""
    computed = chain.from_iterable(node.outputs for node in graph.nodes)
    wanted = set(graph.outputs)
    return [name for name in computed if name in wanted and name not in graph.opaque]
