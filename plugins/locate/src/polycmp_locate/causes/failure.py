"""A model that a side does not run: the operator, or the fewest together, on which it fails.

Asked where the candidate fails and the reference does not. It runs the candidate window by window, then single
operators, then parts of the model, on the reference's tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun, Windows, final_outputs
from polycmp.tensors import Feed, TensorEntry, dtype_of
from polycmp_locate.causes.open_dimensions import fixing_command, open_inputs
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph, declared_graph
from polycmp_locate.pairing.words import all_of, reads_otherwise
from polycmp_locate.rounding.figures import figures, figures_of
from polycmp_locate.setting import Setting, Stage, all_tensors
from polycmp_locate.trials.together import RunsTogether, find_together
from polycmp_locate.values.judged import FAILS, Fused, Judged
from polycmp_locate.values.measured import Row

#: Text that the core adds to the error of a backend that fails before its first run.
_ACTIVATED = " (while it was activated)"


@dataclass(frozen=True)
class ModelFailure:
    """A model that a side does not run.

    Attributes:
        error: Message of the backend.
        frozen_sizes: Evidence for a size of the export's example inputs, as the end of a sentence.
        lost: Which operator of the candidate's file reads what nothing makes, in words; empty if none does.
        runs: What of the model it does run, in words; empty if it is not known to run more than some operators.
        invalid: What is wrong with the candidate's file whichever operator runs, in words; empty if nothing is.
    """

    error: str
    frozen_sizes: str = ""
    lost: str = ""
    runs: str = ""
    invalid: str = ""

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return on which operators the candidate fails, or that it is none of them; empty where nothing is known."""
        row, fused = judged.first_bad, judged.fused
        error = " ".join(self.error.removesuffix(_ACTIVATED).split())
        if self.invalid:
            return f"{FAILS}: {candidate} cannot run the model: {self.invalid}; it says: {error}"
        if row is None:
            fails = f"{FAILS}: {candidate} cannot run the model: {error}; it" if judged.verdict == FAILS else candidate
            return f"{fails} runs {self.runs}" if self.runs else ""
        if fused is not None:
            one = len(fused.nodes) == 1
            what = f"{fused.labels} is where it fails" if one else f"{fused.labels} run one by one, but not together"
            return f"{FAILS}: {candidate} cannot run the model: {error}; {what}{fused.hangs_on}{fused.way_round}"
        says = not row.reason or (row.node.name and row.node.name in error)
        why = f"{f': {self.lost}' if self.lost else ''}{f', and says: {error}' if error and says else ''}"
        if not self.lost:  # which says all there is to say
            why += reads_otherwise(row.node, candidate, reference) or self.frozen_sizes
        if row.reason:
            return f"{FAILS}: {candidate} cannot run the model; run alone, {row.node.label} {row.reason}{why}"
        members = row.node.members if isinstance(row.node, PartNode) else ()
        node = f"{all_of(members)} (nothing between them has a counterpart)" if len(members) > 1 else row.node.label
        return f"{FAILS}: {candidate} cannot run {node}, not even alone{why}"


def ask(setting: Setting, feed: Feed, on_stage: Stage) -> Judged:
    """Return the verdict on a candidate that failed with the whole model, which the reference runs.

    Args:
        setting: The backends to search, and the tools for it.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    candidate, reference = setting.candidate, setting.reference
    invalid = _invalid(candidate.graph, reference)
    if invalid:
        return Judged(verdict=FAILS, cause=ModelFailure(candidate.result.error or "", invalid=invalid))
    windows = Windows([reference], all_tensors(reference.graph), setting.max_memory)
    row, ran_any = _find_failing(candidate, windows, feed, on_stage)
    windows.close()
    if row is None and not ran_any:
        runs = "none of the operators alone either, so none of them is to blame"
        return Judged(cause=ModelFailure(candidate.result.error or "", runs=runs))
    if row is not None:
        failure = ModelFailure(
            candidate.result.error or "", _frozen_sizes(row, candidate.graph), _lost(candidate.graph, reference)
        )
        return Judged(rows=(row,), verdict=FAILS, first_bad=row, cause=failure)
    together = find_together(candidate, reference, feed, final_outputs(reference.graph), on_stage)
    if together is None:
        return _runs_once_cut(candidate, reference, feed)
    failure = ModelFailure(candidate.result.error or "")
    row, fused = _row(together), Fused(together.nodes, cure=together.cure)
    return Judged(rows=(row,), verdict=FAILS, first_bad=row, fused=fused, cause=failure)


def _runs_once_cut(candidate: PartitionedRun, reference: PartitionedRun, feed: Feed) -> Judged:
    """Return the verdict on a candidate that runs every operator alone, and no part of the model fails."""
    error = candidate.result.error or ""
    if candidate.run_part(feed, final_outputs(reference.graph)) is None:
        return Judged(cause=ModelFailure(error))
    opened = open_inputs(candidate.graph, feed)
    runs = "each operator alone, and all of them "
    if opened:
        command = fixing_command(candidate.result.model, opened, feed)
        runs += f"in a file with the dimensions of these inputs: {command} writes it"
    else:
        runs += "once they are cut out of the file"
    return Judged(verdict=FAILS, cause=ModelFailure(error, runs=runs))


def _lost(graph: ModelGraph, reference: PartitionedRun) -> str:
    """Return which operator of a file reads what nothing makes, in words, and what the other file has of that name.

    Args:
        graph: The candidate's model.
        reference: The side whose model may have it.

    Returns:
        Empty if no operator does.
    """
    file_graph = declared_graph(graph)
    if file_graph is None:
        return ""
    known = _held(file_graph)
    lost = ((node, name) for node in file_graph.nodes for name in node.inputs if name not in known)
    node, name = next(lost, (None, ""))
    return "" if node is None else f"{node.label} reads {name!r}, {_made_by_nothing(name, reference)}"


def _held(graph: ModelGraph) -> set[str]:
    """Return the names of all tensors that a file holds, is fed with, or makes."""
    return {*graph.inputs, *graph.weights, *(name for node in graph.nodes for name in node.outputs)}


def _made_by_nothing(name: str, reference: PartitionedRun) -> str:
    """Return that nothing makes a tensor in words, and what makes the other file's of that name."""
    words = "which no operator makes and no weight holds"
    other = declared_graph(reference.graph)
    if other is None:
        return words
    makers = (f"what {one.label} makes" for one in other.nodes if name in one.outputs)
    maker = next(makers, "a weight" if name in other.weights else "")
    return f"{words}; in {reference.label} it is {maker}" if maker else words


def _invalid(graph: ModelGraph, reference: PartitionedRun) -> str:
    """Return why a backend refuses a file whole, whichever operator is asked about; empty if nothing is wrong.

    ONNX has one tensor of each name, and something has to make each output.
    """
    file_graph = declared_graph(graph)
    if file_graph is None:
        return ""
    known = _held(file_graph)
    lost = next((name for name in file_graph.outputs if name not in known), "")
    if lost:
        return f"{lost!r} is an output of the file, {_made_by_nothing(lost, reference)}"
    makers = {**dict.fromkeys(file_graph.inputs, "an input"), **dict.fromkeys(file_graph.weights, "a weight")}
    for node in file_graph.nodes:
        for name in filter(None, node.outputs):
            if name in makers:
                return f"{node.label} makes {name!r}, which is also the name of what {makers[name]} gives"
            makers[name] = node.label
    return ""


def _row(together: RunsTogether) -> Row:
    """Return the row of what the last of the operators makes."""
    name, expected = next(reversed(together.outputs.items()))
    node = next(node for node in together.nodes if name in node.outputs)
    return _failed(name, node, expected, together.inputs)


def _failed(name: str, node: GraphNode, expected: Any, inputs: Feed, reason: str = "") -> Row:
    """Return the row of a tensor that the candidate does not make, or makes with another shape."""
    kind = str(TensorEntry(dtype_of(expected), tuple(expected.shape)))
    return Row(name, node, kind, passed=False, reference=figures(expected), inputs=figures_of(inputs), reason=reason)


class _Failing(NamedTuple):
    """The operator in which a backend fails.

    Attributes:
        row: The tensor that it makes; None if every operator runs alone, or every part of the graph, or none at all.
        ran_any: Whether anything was seen to run; all there is if that is a single operator.
    """

    row: Row | None
    ran_any: bool


def _find_failing(candidate: PartitionedRun, windows: Windows, feed: Feed, on_stage: Stage) -> _Failing:
    """Return the first tensor that the candidate cannot compute from the reference's tensors, or in another shape.

    Args:
        candidate: The backend that failed on the whole model.
        windows: The way of the reference alone through the graph.
        feed: The inputs.
        on_stage: Told what happens next.
    """
    reference = windows.partitioned_runs[0]
    ran_any = len(reference.graph.nodes) == 1
    for window, outputs in windows.windows(feed):
        segment = window.segment
        on_stage(f"operators {segment.start} to {segment.stop}")
        held = {**reference.tensors, **outputs.get(reference.label, {})}
        inputs = {name: held[name] for name in segment.inputs if name in held}
        results = candidate.run_part(inputs, segment.outputs)
        if results is not None and not _resized(results, held):
            ran_any = True
            continue
        nodes = _in_order(reference.graph.nodes[segment.start : segment.stop], candidate.result.error or "")
        for index, node in enumerate(nodes):
            row = _try_node(candidate, node, held, windows)
            if row is None:
                ran_any = ran_any or bool(_feed(node, held, windows)[1])
                continue
            # A backend that runs no operator at all does not fail at the first.
            others = (*nodes[:index], *nodes[index + 1 :])
            ran_any = ran_any or any(_runs(candidate, one, held, windows) for one in others)
            return _Failing(row if row.reason or ran_any else None, ran_any)
    return _Failing(None, ran_any)


def _in_order(nodes: Sequence[GraphNode], error: str) -> Sequence[GraphNode]:
    """Return operators in the order in which they are tried: those first that the backend's message names.

    An operator may fail alone for another reason than the model does, such as a constant as the only output.
    """

    def is_named(node: GraphNode) -> bool:
        names = (node.name, *node.outputs)
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", error) for word in names if word) and (
            re.search(rf"(?<!\w){re.escape(node.op_type)}(?!\w)", error) is not None
        )

    return sorted(nodes, key=lambda node: not is_named(node))


def _runs(candidate: PartitionedRun, node: GraphNode, held: Mapping[str, Any], windows: Windows) -> bool:
    """Return whether the candidate was seen to run an operator alone."""
    inputs, outputs = _feed(node, held, windows)
    return bool(outputs) and candidate.run_part(inputs, outputs) is not None


def _feed(node: GraphNode, held: Mapping[str, Any], windows: Windows) -> tuple[dict[str, Any], list[str]]:
    """Return an operator's inputs and the names of its outputs; no names where it cannot be tried."""
    static = windows.layout.static if windows.layout is not None else set()
    inputs = {name: held[name] for name in node.inputs if name in held and name not in static}
    is_known = all(name in held or name in static for name in node.inputs)
    return inputs, [name for name in node.outputs if name in held] if is_known else []


def _try_node(candidate: PartitionedRun, node: GraphNode, held: Mapping[str, Any], windows: Windows) -> Row | None:
    inputs, outputs = _feed(node, held, windows)
    if not outputs:
        return None
    results = candidate.run_part(inputs, outputs)
    resized = _resized(results or {}, held)
    if results is not None and not resized:
        return None
    return _failed(outputs[0], node, held[outputs[0]], inputs, resized)


def _resized(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Describe the tensors that have another shape than they should have; empty if there are none."""
    for name, array in actual.items():
        if name in expected and tuple(array.shape) != tuple(expected[name].shape):
            return f"computes {name!r} with shape {list(array.shape)} instead of {list(expected[name].shape)}"
    return ""


def _frozen_sizes(row: Row, graph: ModelGraph) -> str:
    """Return evidence for a size of the export's example inputs in the candidate's failure; empty if there is none.

    Args:
        row: The tensor that it fails to make.
        graph: The candidate's model.
    """
    if row.reason:
        return "; was it frozen to the example inputs of the export?"
    if not isinstance(graph, SharedGraph):
        return ""
    node = graph.side.maker.get(graph.model_names[row.tensor])
    if node is None or node.op_type not in {"Reshape", "Expand"} or not graph.side.static.issuperset(node.inputs[1:2]):
        return ""
    return "; its sizes are a constant in the file: those of the example inputs of the export?"
