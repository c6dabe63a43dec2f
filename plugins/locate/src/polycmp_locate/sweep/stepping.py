"""A reference that lacks operators: it steps over them, with what the other backend makes of the same tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

from polycmp.graph import GraphNode
from polycmp.layerwise import GraphCuts, PartitionedRun, Segment, Windows, final_outputs
from polycmp.tensors import Feed
from polycmp_locate.setting import Setting, all_tensors, name_operators


class SteppingRun(PartitionedRun):
    """A backend that runs a graph in parts, some of which another backend runs for it.

    Attributes:
        substitute: The backend that runs the operators which this one lacks; None if it lacks none.
        gaps: The outputs of those operators.
    """

    substitute: PartitionedRun | None = None
    gaps: frozenset[str] = frozenset()
    _read: frozenset[str] = frozenset()

    def run(self, segment: Segment, *, keep: bool = False, whole: bool = False) -> Mapping[str, Any] | None:
        """Run one segment, as `PartitionedRun.run` does."""
        nodes = self.graph.nodes[segment.start : segment.stop]
        if self.substitute is None or not any(self.lacks(node) for node in nodes):
            return super().run(segment, keep=keep, whole=whole)
        outputs_of_gaps: dict[str, Any] = {}
        position = segment.start
        self.release()
        for is_gap, group in groupby(nodes, self.lacks):
            start, position = position, position + len(list(group))
            part = self._layout.segment(start, position)
            before = dict(self.tensors)
            outputs = self._borrow(self.substitute, part) if is_gap else super().run(part, keep=keep)
            if outputs is None:
                return None
            outputs_of_gaps.update(
                {name: copy.deepcopy(array) for name, array in outputs.items() if name in segment.wanted}
            )
            self.tensors = {**before, **self.tensors}  # the whole segment's stay until the next one runs
        self._read = frozenset(segment.last_use)
        return outputs_of_gaps

    def release(self) -> None:
        """Let go what `PartitionedRun.release` lets go, and what the last segment was the last to read."""
        super().release()
        for name in self._read:
            self.tensors.pop(name, None)
        self._read = frozenset()

    def run_part(self, inputs: Feed, outputs: Sequence[str]) -> dict[str, Any] | None:
        """Run any part of the model, as `PartitionedRun.run_part` does."""
        if self.substitute is None:
            return super().run_part(inputs, outputs)
        nodes = self._between(inputs, outputs)
        if not any(self.lacks(node) for node in nodes):
            return super().run_part(inputs, outputs)
        groups = [(is_gap, list(group)) for is_gap, group in groupby(nodes, self.lacks)]
        held, wanted = dict(inputs), set(outputs)
        for index, (is_gap, group) in enumerate(groups):
            later = {name for _, behind in groups[index + 1 :] for node in behind for name in node.inputs}
            produced = [name for node in group for name in node.outputs if name in wanted | later]
            if not produced:
                continue
            feed = {name: held[name] for node in group for name in node.inputs if name in held}
            results = self.substitute.run_part(feed, produced) if is_gap else super().run_part(feed, produced)
            if results is None:
                return None
            held.update(results)
        return {name: held[name] for name in outputs if name in held}

    def run_repeatedly(self, feed: Feed, outputs: Sequence[str] | None, times: int) -> list[dict[str, Any]]:
        """Run the whole model, as `PartitionedRun.run_repeatedly` does, but in new runners each time."""
        if self.substitute is None:
            return super().run_repeatedly(feed, outputs, times)
        wanted = final_outputs(self.graph) if outputs is None else outputs
        repeats = [part for _ in range(times) if (part := self.run_part(feed, wanted)) is not None]
        if not repeats:
            self.fail("cannot run the model, not even without the operators that it lacks")
        return repeats

    @property
    def can_join(self) -> bool:
        """Whether several parts can run as one model: not where another backend runs some."""
        return self.substitute is None and super().can_join

    @cached_property
    def _layout(self) -> GraphCuts:
        return GraphCuts(self.graph, all_tensors(self.graph), {})

    def lacks(self, node: GraphNode) -> bool:
        """Return whether the other backend runs an operator for this one."""
        return not self.gaps.isdisjoint(node.outputs)

    def _borrow(self, substitute: PartitionedRun, part: Segment) -> dict[str, Any] | None:
        outputs = substitute.run_part({name: self.tensors[name] for name in part.inputs}, part.outputs)
        if outputs is None:
            self.fail(f"lacks operators that {substitute.label} cannot run alone either")
            return None
        self.tensors.update(outputs)
        return outputs

    def _between(self, inputs: Feed, outputs: Sequence[str]) -> list[GraphNode]:
        """Return the operators that some tensors take, where others are given."""
        wanted, nodes = set(outputs), []
        for node in reversed(self.graph.nodes):
            if wanted.intersection(node.outputs) - set(inputs):
                nodes.append(node)
                wanted.update(node.inputs)
        return nodes[::-1]


def step_over(setting: Setting, feed: Feed, on_stage: Callable[[str], None] = lambda _: None) -> bool:
    """Let the reference step over the operators that it cannot run; return whether it can go its way now.

    Args:
        setting: The backends to search; the reference failed with the whole model.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    reference, result = setting.reference, setting.reference.result
    if not isinstance(reference, SteppingRun) or reference.substitute is not None:
        return False
    why = result.error.removesuffix(" (while it was activated)")
    lacking = list(_lacking(setting, feed, on_stage))
    if not lacking or len(lacking) == len(reference.graph.nodes):
        return False
    reference.gaps = frozenset(name for node in lacking for name in node.outputs)
    reference.substitute = setting.candidate
    result.error = result.hint = ""
    them, their = ("it", "its") if len(lacking) == 1 else ("them", "their")
    result.notes.append(
        f"cannot run {name_operators(lacking)}, so {setting.candidate.label} runs {them} for both, and nothing is said "
        f"of {their} own errors ({why})"
    )
    return True


def borrowed_operators(reference: PartitionedRun) -> tuple[GraphNode, ...]:
    """Return the operators that another backend runs for a reference."""
    if not isinstance(reference, SteppingRun) or reference.substitute is None:
        return ()
    return tuple(node for node in reference.graph.nodes if reference.lacks(node))


def _lacking(setting: Setting, feed: Feed, on_stage: Callable[[str], None]) -> Iterator[GraphNode]:
    """Yield the operators that the reference cannot run on the candidate's tensors."""
    candidate, reference = setting.candidate, setting.reference
    windows = Windows([candidate], all_tensors(candidate.graph), setting.max_memory)
    for window, outputs in windows.windows(feed):
        on_stage(f"operators {window.segment.start} to {window.segment.stop}")
        held = {**candidate.tensors, **outputs.get(candidate.label, {})}
        layout = windows.layout
        if layout is not None:
            yield from _failing(reference, layout, held, window.segment.start, window.segment.stop)
    windows.close()


def _failing(
    partitioned_run: PartitionedRun, layout: GraphCuts, held: Mapping[str, Any], start: int, stop: int
) -> Iterator[GraphNode]:
    part = layout.segment(start, stop)
    outputs = [name for name in part.outputs if name in held]
    if not outputs or any(name not in held for name in part.inputs):
        return
    if partitioned_run.run_part({name: held[name] for name in part.inputs}, outputs) is not None:
        return
    if stop - start == 1:
        yield layout.graph.nodes[start]
        return
    middle = (start + stop) // 2
    yield from _failing(partitioned_run, layout, held, start, middle)
    yield from _failing(partitioned_run, layout, held, middle, stop)
