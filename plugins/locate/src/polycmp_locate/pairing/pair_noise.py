"""What rounding does to the tensors of two paired models, measured on the reference's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import ModelGraph, Rounding
from polycmp.judging import (
    MARGIN,
    Decisions,
    Floor,
    MeasuredJudge,
    Network,
    PerturbedRuns,
    Samples,
    Side,
    Values,
    depths_of,
    floor_of,
    lost_in,
    quantised_tensors,
    rounded_weights,
    turned_in,
)
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS, is_steps, operator_rounding, unit_of
from polycmp.sentences import decide_by_the_task
from polycmp.tensors import Feed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph


def rounded_to(graph: SharedGraph, quantised: ModelGraph, exact: ModelGraph) -> dict[str, Rounding]:
    """Return the types and steps to which the candidate's model rounds the reference's tensors, by the latter's names.

    Args:
        graph: The reference's model under the names of the pairs.
        quantised: The candidate's model.
        exact: The reference's.
    """
    shared: dict[str, Rounding] = {}
    for node in graph.nodes:
        shared |= _beside_ties(node) if isinstance(node, PartNode) else {}
    steps = {name: kind for name, kind in quantised_tensors(quantised, exact).items() if name not in shared}
    found: dict[str, Rounding] = {}
    for node in graph.nodes:
        kind = node.apart if isinstance(node, PartNode) else ""
        if not is_steps(kind):
            found |= {graph.own.get(name, name): kind for name in node.outputs}
        elif not steps:
            found |= {graph.own.get(name, name): kind for name in (*node.inputs, *node.outputs)}
    coarse = {kind for kind in found.values() if isinstance(kind, str) and not is_steps(kind)}
    return {**found, **rounded_weights(quantised, exact), **shared, **steps, "": max(coarse, key=unit_of, default="")}


def _beside_ties(node: PartNode) -> dict[str, Rounding]:
    """Return how far numbers move that both files round to the same steps, so that samples show which codes may flip.

    A code flips where a number is as near to a tie as rounding brings it, and then by a whole step: multiplying what
    one rounding does by `MARGIN`, as for all that is smooth, shows none of it, so the numbers move that far themselves.
    """
    unit = max((unit_of(node.apart), UNITS["float32"]))
    return {name: 2.0 * MARGIN * operator_rounding(unit) * reach for name, reach in node.shared_steps.items()}


class PairedRounding:
    """The noise of the tensors of two paired models, as `polycmp.runs.Tolerances` describes it.

    Args:
        graph: The reference's model under the names of the pairs.
        reference: Run of the reference under these names.
        perturbed: Runs it with its tensors moved; None where nothing can.
        kinds: Types and steps that its tensors are rounded to in the candidate's model, by its names.
        is_real: Whether the inputs are the user's own.
        network: Tells what the files of both sides hold, and what is said of it.
    """

    def __init__(
        self,
        graph: SharedGraph,
        reference: PartitionedRun,
        perturbed: PerturbedRuns | None,
        kinds: Mapping[str, Rounding],
        *,
        is_real: bool = False,
        network: Callable[[], tuple[Network, str]] = lambda: ("", ""),
    ) -> None:
        self._network = network
        self._own = graph.own
        self._reference = reference
        self._moved = perturbed
        self._depth = depths_of(graph)
        self._kinds, self._is_real = kinds, is_real
        self._ends = graph.side.finals
        self._read = frozenset(name for node in graph.nodes for name in node.inputs)
        self._on_the_way: dict[str, str] = {}
        for node in graph.nodes:
            known = node.apart if isinstance(node, PartNode) else ""
            coarsest = max((known, *(self._on_the_way.get(name, "") for name in node.inputs)), key=unit_of)
            self._on_the_way.update(dict.fromkeys(node.outputs, coarsest))
        self._names: Sequence[str] = ()
        self._samples: Samples | None = None

    def begin(self, feed: Feed, outputs: Sequence[str] | None = None) -> None:
        """Take the names of the next tensors; inputs are those that the reference runs with."""
        self._names, self._samples = outputs or (), None

    def close(self) -> None:
        """Drop the noise measured so far."""
        self._samples = None

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> MeasuredJudge:
        """Return the compare function that judges by this noise."""
        return MeasuredJudge(options, self, detail)

    def floor(self, output: str, expected: Values) -> Floor:
        """Return the noise of a tensor of real numbers, of both sides together."""
        kind = self._on_the_way.get(output, "") or "float32"
        other = kind if unit_of(kind) <= UNITS["float32"] else "float32"  # both round to it, each in its own order
        sides = [Side(self._kinds, kind), Side(self._kinds, other)]
        samples = self._sampled()
        return floor_of(self._own_name(output), expected, sides, [samples, samples], self._depth.get(output, 1))

    def lost(self, output: str, reference: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Return which of its numbers rounding may make NaN or infinite; None where none."""
        return lost_in(self._own_name(output), reference, [self._sampled()])

    def decisions(self, output: str, reference: NDArray[Any]) -> tuple[Decisions, str]:
        """Return what rounding turns of whole numbers and of shapes, and the type that is rounded to."""
        kind = self._on_the_way.get(output, "") or "float32"
        return turned_in(self._own_name(output), reference, [self._sampled()]), kind

    def is_inner(self, output: str) -> bool:
        """Return whether operators read the tensor, which is no output of the model."""
        return output in self._read and self._own_name(output) not in self._ends

    def network(self) -> tuple[Network, str]:
        """Return what the files of both sides hold, told without a run, and what is said of it."""
        return self._network()

    def advice(self, output: str, reference: NDArray[Any]) -> str:
        """Return what to do where rounding may explain a difference that is no small one."""
        return decide_by_the_task(output, reference.shape, is_real=self._is_real)

    def _own_name(self, output: str) -> str:
        return self._own.get(output, output)

    def _sampled(self) -> Samples | None:
        if self._samples is None and self._moved is not None and self._names:
            feed = {self._own_name(name): array for name, array in self._reference.given.items()}
            names = list(dict.fromkeys(map(self._own_name, self._names)))
            self._samples = self._moved.samples(feed, self._kinds, names)
        return self._samples
