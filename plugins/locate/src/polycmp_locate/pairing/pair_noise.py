"""Rounding noise of the tensors of two paired models, measured on the one that rounds less."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare import OutputJudge
from polycmp.graph import ModelGraph, Rounding
from polycmp.judging import (
    Decisions,
    Floor,
    MeasuredJudge,
    PerturbedRuns,
    RoundingSource,
    Samples,
    Side,
    Values,
    beside_ties,
    depths_of,
    floor_of,
    lost_in,
    quantised_tensors,
    rounded_weights,
    turned_in,
    types_inside,
    uncut_tensors,
)
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS, is_steps, unit_of
from polycmp.runs import Tolerances
from polycmp.spec import CompareFunction
from polycmp.tensors import Feed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.side import ModelSide
from polycmp_locate.pairing.view import SharedGraph


def paired_rounding(
    candidate: PartitionedRun,
    reference: PartitionedRun,
    perturbed: Callable[[PartitionedRun], PerturbedRuns | None],
    outputs: Tolerances | None = None,
) -> PairedRounding | None:
    """Return the rounding noise of two paired models; None where no backend runs one with its tensors perturbed.

    The model that rounds less is moved, and the reference's if both do alike: of a model that rounds to steps nothing
    tells how far they are from the numbers that were rounded.

    Args:
        candidate: The run to judge, under the names of the pairs.
        reference: The run to believe.
        perturbed: Returns the perturbed runs of a run's model; None where its backend has none.
        outputs: Judges the models' own outputs; None where nobody asks for them.
    """
    sides = [(run, run.graph) for run in (reference, candidate) if isinstance(run.graph, SharedGraph)]
    for run, graph in sorted(sides, key=lambda side: _coarsest_unit(side[1].side)):
        runs = perturbed(run)
        if runs is not None and runs.graph is graph.side.graph:
            other = next(other for _, other in sides if other is not graph)
            kinds = rounded_to(graph, other.side.graph, is_reference=run is reference)
            return PairedRounding(graph, run, runs, kinds, graph.finals & other.finals, outputs)
    return None


def _coarsest_unit(side: ModelSide) -> float:
    kinds = {*types_inside(side.graph, side.types), *side.cast_weights.values()}
    return max(map(unit_of, kinds), default=0.0)


def rounded_to(graph: SharedGraph, quantised: ModelGraph, *, is_reference: bool) -> dict[str, Rounding]:
    """Return the types and steps to which one of two models rounds the tensors of the other, by the latter's names.

    Args:
        graph: The model that rounds less, under the names of the pairs.
        quantised: The other one.
        is_reference: Whether the one that rounds less is the reference's.
    """
    exact, parts = graph.side.graph, [node for node in graph.nodes if isinstance(node, PartNode)]
    shared = {name: beside_ties(node.apart, reach) for node in parts for name, reach in node.shared_steps.items()}
    if not is_reference:  # parts call what is rounded alike as the reference does
        candidate_names = {node.counterpart: graph.model_names[name] for node in parts for name in node.outputs}
        shared = {candidate_names[name]: kind for name, kind in shared.items() if name in candidate_names}
    steps = {name: kind for name, kind in quantised_tensors(quantised, exact).items() if name not in shared}
    kinds: dict[str, Rounding] = {}
    for node in parts:
        if not is_steps(node.apart):
            kinds |= {graph.model_names.get(name, name): node.apart for name in node.outputs}
        elif not steps:
            kinds |= {graph.model_names.get(name, name): node.apart for name in (*node.inputs, *node.outputs)}
    coarse = {kind for kind in kinds.values() if isinstance(kind, str) and not is_steps(kind)}
    return {**kinds, **rounded_weights(quantised, exact), **shared, **steps, "": max(coarse, key=unit_of, default="")}


class PairedRounding(RoundingSource):
    """The noise of the tensors of two paired models, as `polycmp.runs.Tolerances` describes it.

    Args:
        graph: The model that is moved, under the names of the pairs.
        base: Run of that model under these names.
        perturbed: Runs it with its tensors moved.
        kinds: Types and steps that its tensors are rounded to in the other model, by its names.
        finals: Names of the tensors that are outputs of both models.
        outputs: Judges the models' own outputs; None where nobody asks for them.
    """

    def __init__(
        self,
        graph: SharedGraph,
        base: PartitionedRun,
        perturbed: PerturbedRuns,
        kinds: Mapping[str, Rounding],
        finals: frozenset[str],
        outputs: Tolerances | None = None,
    ) -> None:
        self._outputs = outputs
        self._model_names = graph.model_names
        self._base = base
        self._perturbed_runs = perturbed
        self._depth = depths_of(graph)
        self._uncut = uncut_tensors(graph.side.graph)
        self._kinds = kinds
        self._finals = finals
        self._on_the_way: dict[str, str] = {}
        for node in graph.nodes:
            known = node.apart if isinstance(node, PartNode) else ""
            coarsest = max((known, *(self._on_the_way.get(name, "") for name in node.inputs)), key=unit_of)
            self._on_the_way.update(dict.fromkeys(node.outputs, coarsest))
        self._names: Sequence[str] = ()
        self._samples: Samples | None = None

    def begin(self, feed: Feed, outputs: Sequence[str] | None = None) -> None:
        """Begin the next tensors; the tolerances of the models' outputs learn which outputs are among them."""
        self._names, self._samples = outputs or (), None
        if self._outputs is not None:
            self._outputs.begin(feed, [name for name in self._names if not self.is_inner(name)])

    def close(self) -> None:
        """Drop the noise measured so far."""
        self._samples = None
        if self._outputs is not None:
            self._outputs.close()

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> MeasuredJudge:
        """Return the compare function that judges inner tensors by this noise, outputs by their own tolerances."""
        if self._outputs is None:
            return MeasuredJudge(options, self, detail)
        finals = self._outputs.judge(options, candidate, reference, detail=detail)
        return _InnerJudge(options, self, detail, finals)

    def floor(self, output: str, expected: Values, *, count: int) -> Floor:
        """Return the noise of a tensor of real numbers, of both sides together."""
        kind = self._on_the_way.get(output, "") or "float32"
        other = kind if unit_of(kind) <= UNITS["float32"] else "float32"  # both round to it, each in its own order
        sides = [Side(self._kinds, kind), Side(self._kinds, other)]
        samples = self._sampled()
        name, depth = self._model_name(output), self._depth.get(output, 1)
        uncut = self._uncut.get(name, "") if self.is_inner(output) else ""
        return floor_of(name, expected, sides, [samples, samples], depth, uncut, count=count)

    def lost(self, output: str, reference: NDArray[Any], *, count: int) -> NDArray[np.bool_] | None:
        """Return the mask of numbers that rounding may make NaN or infinite; None if there are none."""
        return lost_in(self._model_name(output), reference, [self._sampled()], count=count)

    def decisions(self, output: str, *, count: int) -> tuple[Decisions, str]:
        """Return the decisions that rounding turns in a tensor of whole numbers or a shape, and the rounded type."""
        kind = self._on_the_way.get(output, "") or "float32"
        return turned_in(self._model_name(output), [self._sampled()], count=count), kind

    def is_inner(self, output: str) -> bool:
        """Return whether the tensor is no output of both models."""
        return output not in self._finals

    def _model_name(self, output: str) -> str:
        return self._model_names.get(output, output)

    def _sampled(self) -> Samples | None:
        if self._samples is None and self._names:
            feed = {self._model_name(name): array for name, array in self._base.given.items()}
            names = list(dict.fromkeys(map(self._model_name, self._names)))
            self._samples = self._perturbed_runs.samples(feed, self._kinds, names)
        return self._samples


@dataclass(frozen=True)
class _InnerJudge(MeasuredJudge):
    """Compare function that judges inner tensors by their own noise, and outputs by their own tolerances."""

    finals: CompareFunction | None = None

    def of_output(self, output: str) -> OutputJudge:
        """Return the compare function that judges an output."""
        if self.rounding.is_inner(output) or not isinstance(self.finals, OutputJudge):
            return super().of_output(output)
        return self.finals.of_output(output)
