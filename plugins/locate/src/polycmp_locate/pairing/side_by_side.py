"""`polycmp run --mark-all` over models that differ: pairs of tensors, each judged by the coarsest type on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polycmp.compare.verdicts import DetailedVerdict, OutputComparison, PairComparison, inconclusive, verdict_over
from polycmp.data.dimensions import merge_inputs
from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp.runs.comparers import Comparer
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_layerwise.open import Paired
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_layerwise.structure import same_structure
from polycmp_locate.decisions import AT_LIMIT, accumulated_limit
from polycmp_locate.figures import largest_of
from polycmp_locate.pairing.inputs import input_pairs, own_names, with_inputs
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.step_noise import StepNoise
from polycmp_locate.pairing.view import SharedGraph, align, under_names
from polycmp_locate.pairing.words import pairing_notes

Outputs = Mapping[str, Any]
#: The tolerances of `simple` where nobody asks for others.
_USUAL = 1e-5


def pair_runs(
    partitioned_runs: Sequence[PartitionedRun], reference: str, given: Mapping[str, str], command: str
) -> Paired | None:
    """Return runs of two different models as ones of equal graphs; None for more models, or too little in common.

    Args:
        partitioned_runs: The runs.
        reference: Label of the reference; empty for the last.
        given: Names of one input in two models, whichever way round.
        command: The command line, for messages.

    Raises:
        UsageError: It is not certain which inputs are the same.
        ModelError: An input has the name of a tensor inside the other model.
    """
    reference_run = next(
        (
            partitioned_run
            for partitioned_run in partitioned_runs
            if reference in (partitioned_run.label, partitioned_run.result.backend)
        ),
        partitioned_runs[-1],
    )
    others = [
        partitioned_run
        for partitioned_run in partitioned_runs
        if not same_structure(partitioned_run.graph, reference_run.graph)
    ]
    first = others[0] if others else None
    if first is None or not all(same_structure(first.graph, partitioned_run.graph) for partitioned_run in others):
        return None
    pairs = input_pairs(first, reference_run, given, command)
    names = own_names(pairs)
    first = with_inputs(first, names) if names else first
    aligned = align(first, reference_run, merge_inputs([reference_run.graph.inputs, first.graph.inputs]))
    mine = aligned.candidate.graph
    if not mine.outputs or not isinstance(mine, SharedGraph):
        return None
    made = [
        under_names(with_inputs(partitioned_run, names) if names else partitioned_run, mine)
        if partitioned_run in others
        else under_names(partitioned_run, aligned.reference_graph)
        for partitioned_run in partitioned_runs
    ]
    limits = Limits(mine.nodes)
    notes = pairing_notes(replace(aligned.pairing, inputs=pairs), first.label, reference_run.label)
    return Paired(made, list(notes), lambda comparer: PairedComparer(comparer, limits))


class Limits:
    """Which error of each tensor rounding to the coarsest type on its way explains.

    Args:
        nodes: The operators of both models together.

    Attributes:
        noise: What rounding to steps of a scale explains, part by part.
    """

    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self.noise = StepNoise(nodes)
        self._units: dict[str, tuple[float, str]] = {}
        self._place: dict[str, int] = {}
        self._depth: dict[str, int] = {}
        for place, node in enumerate(nodes):
            depth = 1 + max((self._depth.get(name, -1) for name in node.inputs), default=-1)
            units = [self._units[name] for name in node.inputs if name in self._units]
            own = (node.unit, node.coarsest) if isinstance(node, PartNode) else (0.0, "")
            for name in node.outputs:
                self._units[name] = max((own, *units), key=lambda item: item[0])
                self._place[name], self._depth[name] = place, depth

    def of(self, name: str) -> tuple[float, str]:
        """Return an error relative to the largest magnitude, and the type; 0 where no type coarser than float32 is."""
        unit, kind = self._units.get(name, (0.0, ""))
        return (accumulated_limit(self._depth[name], unit, 0.0), kind) if unit > UNITS["float32"] else (0.0, "")

    def place(self, name: str) -> int:
        """Return the position of the operator that makes a tensor."""
        return self._place.get(name, -1)


class PairedComparer:
    """A comparer that lets tensors pass which are off by no more than rounding to the types of their models explains.

    Args:
        comparer: Compares them by the tolerances.
        limits: What rounding explains.
    """

    def __init__(self, comparer: Comparer, limits: Limits) -> None:
        self._comparer = comparer
        self._limits = limits
        self._wrong: set[str] = set()
        self._failed: set[str] = set()

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and return its verdicts."""
        mine, expected = dict(candidate), dict(reference)
        for name in candidate.keys() & reference.keys():
            mine[name], expected[name] = _held(candidate[name], reference[name])
        self._limits.noise.see(mine, expected)
        found = self._comparer.add(mine, expected)
        judged = {}
        for item in sorted(found, key=lambda item: self._limits.place(item.output)):
            judged[item.output] = self._judged(item, self._by_parts)
            if judged[item.output].passed:
                self._wrong.discard(item.output)
            else:
                self._wrong.add(item.output)
                self._failed.add(item.output)
        return [judged[item.output] for item in found]

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations."""
        found = self._comparer.result(candidate_iterations, reference_iterations)
        outputs = {
            name: self._judged(item, lambda name: name not in self._failed) for name, item in found.outputs.items()
        }
        verdict = "failed" if found.reason else verdict_over(outputs.values())
        return replace(found, outputs=outputs, passed=verdict == "passed", inconclusive=inconclusive(verdict))

    def _by_parts(self, name: str) -> bool:
        return self._limits.noise.explains(name, self._wrong)

    def _judged(self, item: OutputComparison, by_parts: Callable[[str], bool]) -> OutputComparison:
        """Return the verdict on a tensor.

        Args:
            item: The verdict by the tolerances.
            by_parts: Says whether what the parts before it round explains its noise.
        """
        stats = item.stats
        if (
            item.verdict != "failed"
            or stats is None
            or not _by_usual_tolerances(item)
            or stats.whole
            or stats.nan_failed
        ):
            return item
        limit, kind = self._limits.of(item.output)
        if not stats.share or not kind:
            return item
        kept = self._limits.noise.kept(item.output)
        if kept:
            return replace(item, reason=kept)
        if stats.share <= limit:
            reason = (
                f"{stats.share:.2g} of the largest value, which rounding to {kind} on its way explains ({limit:.2g})"
            )
        elif by_parts(item.output):
            reason = f"{self._limits.noise.left(item.output)}, which the parts before bring and round to {kind}"
        else:
            why = self._limits.noise.too_much(item.output)
            return replace(item, reason=f"{why} with rounding to {kind}") if why else item
        return replace(item, passed=True, reason=reason, failed_iterations=0)


def _by_usual_tolerances(item: OutputComparison) -> bool:
    """Return whether an output fails by nothing but tolerances that nobody chose."""
    failed = [verdict for verdict in item.verdicts.values() if not verdict.passed]
    return all(
        isinstance(verdict, DetailedVerdict) and set(verdict.tolerance.values()) == {_USUAL} for verdict in failed
    )


def _held(candidate: Any, reference: Any) -> tuple[Any, Any]:
    """Return two tensors in which what only masks others is one number, where the candidate's type has none so large.

    Large negative numbers mask others, and the largest that a type has, or its infinity, does so, too.
    """
    kind, other = dtype_of(candidate), dtype_of(reference)
    if kind == other or not (is_floating(kind) and is_floating(other)):
        return candidate, reference
    own, expected = to_numpy(candidate), to_numpy(reference)
    border = -largest_of(kind.name)
    if own.shape != expected.shape or not expected.size or not float(expected.min()) < border:
        return candidate, reference
    masks = (expected < border) & (own <= AT_LIMIT * border)
    return np.where(masks, own.dtype.type(border), own), np.where(masks, expected.dtype.type(border), expected)
