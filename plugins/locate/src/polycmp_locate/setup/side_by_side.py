"""`polycmp run --mark-all` over models that differ: pairs of tensors, each judged by the coarsest type on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from polycmp.compare import OutputComparison, PairComparison, inconclusive, verdict_over
from polycmp.data import merge_inputs
from polycmp.graph import DeclaredGraph
from polycmp.judging import PerturbedRuns
from polycmp.layerwise import GivenNames, Paired, PartitionedRun, final_outputs, same_structure
from polycmp.runs import Comparer, Tolerances, labels_called
from polycmp.tensors import Outputs
from polycmp_locate.network.comparison import compare_networks, compare_sides
from polycmp_locate.pairing.inputs import input_pairs, renamed_inputs, with_inputs
from polycmp_locate.pairing.output_map import mapped_pairs
from polycmp_locate.pairing.pair_noise import paired_rounding
from polycmp_locate.pairing.view import SharedGraph, align, under_names
from polycmp_locate.pairing.words import pairing_notes


def pair_runs(
    partitioned_runs: Sequence[PartitionedRun],
    reference: str,
    given: GivenNames,
    command: str,
    perturbed: Callable[[PartitionedRun], PerturbedRuns | None],
) -> Paired | None:
    """Return runs of two different models as ones of equal graphs; None for more models, or too little in common.

    Models of equal graphs are returned as they are where only what their files hold tells how to judge their tensors.

    Args:
        partitioned_runs: The runs.
        reference: Label of the reference, or name of its backend; empty for the last run.
        given: The names that the user paired.
        command: The command line, for messages.
        perturbed: Gives what runs a run's model with its tensors moved; None where nothing can.

    Raises:
        UsageError: It is not certain which inputs are the same, or a tensor that the user paired is not there.
        ModelError: An input has the name of a tensor inside the other model.
    """
    labels = labels_called(reference, [run.result for run in partitioned_runs])
    reference_run = next((run for run in partitioned_runs if run.label in labels), partitioned_runs[-1])
    others = [
        partitioned_run
        for partitioned_run in partitioned_runs
        if not same_structure(partitioned_run.graph, reference_run.graph)
    ]
    first = others[0] if others else None
    if first is None:
        return _of_equal_graphs(partitioned_runs, reference_run)
    if not all(same_structure(first.graph, partitioned_run.graph) for partitioned_run in others):
        return None
    pairs = input_pairs(first, reference_run, given.inputs, command)
    outputs = mapped_pairs(first, reference_run, given.outputs)
    names = renamed_inputs(pairs)
    first = with_inputs(first, names) if names else first
    inputs = merge_inputs([reference_run.graph.inputs, first.graph.inputs])
    aligned = align(first, reference_run, inputs, outputs, given.ends)
    candidate_graph = aligned.candidate.graph
    lost = set(first.graph.outputs) & outputs.keys() - set(candidate_graph.outputs)
    if not candidate_graph.outputs or lost or not isinstance(candidate_graph, SharedGraph):
        return None
    ordered = [
        under_names(with_inputs(partitioned_run, names) if names else partitioned_run, candidate_graph)
        if partitioned_run in others
        else under_names(partitioned_run, aligned.reference_graph)
        for partitioned_run in partitioned_runs
    ]
    runs_by_label = {run.label: run for run in partitioned_runs}
    under = dict(zip(runs_by_label, ordered, strict=True))
    candidate, believed = under[others[0].label], under[reference_run.label]

    def rounding(outputs: Tolerances) -> Tolerances:
        measured = paired_rounding(candidate, believed, lambda run: perturbed(runs_by_label[run.label]), outputs)
        return outputs if measured is None else measured

    notes = pairing_notes(replace(aligned.pairing, inputs=pairs), first.label, reference_run.label)
    ends = [
        name for name in candidate_graph.outputs if candidate_graph.model_names[name] in candidate_graph.side.finals
    ]
    to_reference = aligned.pairing.to_reference
    reference_graph = aligned.reference_graph.side

    @cache
    def is_equalised() -> bool:
        return bool(compare_sides(candidate_graph.side, reference_graph, aligned.pairing.matches).equalised)

    def paired_comparer(comparer: Comparer) -> Comparer:
        return PairedComparer(comparer, outputs, ends, is_equalised)

    return Paired(ordered, list(notes), paired_comparer, rounding, to_reference)


def _of_equal_graphs(runs: Sequence[PartitionedRun], reference: PartitionedRun) -> Paired | None:
    """Return runs of two files of equal graphs as they are; None where there are more files, or none."""
    graph = reference.graph
    other, *more = {id(run.graph): run.graph for run in runs if run.graph is not graph}.values() or [None]
    if more or not isinstance(graph, DeclaredGraph) or not isinstance(other, DeclaredGraph):
        return None
    files, ends = (other, graph), final_outputs(graph)

    @cache
    def is_equalised() -> bool:
        return bool(compare_networks(*files).equalised)

    return Paired(list(runs), [], lambda comparer: PairedComparer(comparer, {}, ends, is_equalised))


class PairedComparer:
    """A comparer that knows how paired tensors are called, and which names optimisers gave to other ones.

    Args:
        comparer: Compares them.
        given: Names in the candidate's model -> names in the reference's, of tensors that the user paired.
        ends: The outputs of the models' files.
        is_equalised: Tells whether channels inside are multiplied in one file, as the operators that read them expect.
            It reads all weights, and is asked only of tensors that differ beside outputs that agree.
    """

    def __init__(
        self, comparer: Comparer, given: Mapping[str, str], ends: Sequence[str], is_equalised: Callable[[], bool]
    ) -> None:
        self._comparer = comparer
        self._ends, self._is_equalised = ends, is_equalised
        self._given = given

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and return its verdicts."""
        return [self._named(item) for item in self._comparer.add(candidate, reference)]

    def _named(self, item: OutputComparison) -> OutputComparison:
        """Return a verdict with the reference's own name of a tensor that the user paired."""
        return replace(item, reference_output=self._given.get(item.output, item.reference_output))

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations."""
        compared = self._comparer.result(candidate_iterations, reference_iterations)
        outputs = {name: self._named(item) for name, item in compared.outputs.items()}
        if all(outputs[name].verdict != "failed" for name in self._ends if name in outputs):
            outputs = {name: self._beside_right_outputs(item) for name, item in outputs.items()}
        verdict = "failed" if compared.reason else verdict_over(outputs.values())
        return replace(compared, outputs=outputs, passed=verdict == "passed", inconclusive=inconclusive(verdict))

    def _beside_right_outputs(self, item: OutputComparison) -> OutputComparison:
        """Return the verdict on a tensor inside where no output of the model failed."""
        if item.output not in self._ends and _is_other(item):
            return _other(item, "another tensor of that name")
        is_inner = item.output not in self._ends and item.stats is not None
        if is_inner and item.verdict in {"failed", "undecided"} and self._is_equalised():
            return _other(item, "channels are multiplied by factors of their own")
        return item


def _is_other(item: OutputComparison) -> bool:
    """Return whether both sides have a tensor of one name, each of another shape."""
    kinds = [kind.partition("[")[::2] for kind in (item.candidate_type, item.reference_type)]
    return item.verdict != "passed" and item.stats is None and kinds[0][0] == kinds[1][0] and kinds[0] != kinds[1]


def _other(item: OutputComparison, why: str) -> OutputComparison:
    """Return the verdict on a tensor that is another one on purpose, as all that is made of both agrees."""
    return replace(
        item, passed=True, inconclusive="", failed_iterations=0, reason=f"{why}: {item.reason}; all outputs agree"
    )
