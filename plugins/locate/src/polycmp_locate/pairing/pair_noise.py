"""Error of the tensors of two paired models that rounding explains, measured on the reference's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.compare import (
    MARGIN,
    Decisions,
    Explained,
    Level,
    explained,
    lost_channels,
    one_rounding,
    root_mean_square,
    sampled_decisions,
    sampled_levels,
    scales_of,
    shape_reason,
)
from polycmp.graph import ModelGraph, Rounding
from polycmp.layerwise import PartitionedRun, PerturbedRuns, Samples, quantised_tensors, rounded_weights
from polycmp.precision import UNITS, is_steps, operator_rounding, unit_of
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.rounding.difference import relative_to
from polycmp_locate.rounding.figures import largest_of
from polycmp_locate.rounding.masks import beside_masks
from polycmp_locate.rounding.thresholds import AT_LIMIT, NO_DIGIT_LEFT

Tensors = Mapping[str, Any]


class Said(NamedTuple):
    """Judgement of a tensor by the noise.

    Attributes:
        passed: Whether rounding explains its error.
        reason: Reason in words.
        inconclusive: `undecided` where it may explain anything.
    """

    passed: bool
    reason: str
    inconclusive: str = ""


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


class PairNoise:
    """The noise of the tensors of two paired models.

    Args:
        graph: The reference's model under the names of the pairs.
        reference: Run of the reference under these names.
        perturbed: Runs it with its tensors moved; None where nothing can.
        kinds: Types and steps that its tensors are rounded to in the candidate's model, by its names.
    """

    def __init__(
        self,
        graph: SharedGraph,
        reference: PartitionedRun,
        perturbed: PerturbedRuns | None,
        kinds: Mapping[str, Rounding],
    ) -> None:
        self._own = graph.own
        self._reference = reference
        self._moved = perturbed
        self._on_the_way: dict[str, str] = {}
        self._depth: dict[str, int] = {}
        self._place: dict[str, int] = {}
        self._flips: set[str] = set()
        self._kinds = kinds
        self._ends = graph.side.finals
        self._read = frozenset(name for node in graph.nodes for name in node.inputs)
        for place, node in enumerate(graph.nodes):
            known = node.apart if isinstance(node, PartNode) else ""
            coarsest = max((known, *(self._on_the_way.get(name, "") for name in node.inputs)), key=unit_of)
            behind = bool(isinstance(node, PartNode) and node.shared_steps) or not self._flips.isdisjoint(node.inputs)
            self._flips.update(node.outputs if behind else ())
            depth = 1 + max((self._depth.get(name, 0) for name in node.inputs), default=0)
            for name in node.outputs:
                self._on_the_way[name], self._depth[name], self._place[name] = coarsest, depth, place

    def kind(self, name: str) -> str:
        """Return the coarsest type on a tensor's way; empty where nothing is rounded."""
        return self._on_the_way.get(name, "")

    def place(self, name: str) -> int:
        """Return the position of the operator that makes a tensor."""
        return self._place.get(name, -1)

    def explain(self, candidate: Tensors, reference: Tensors) -> dict[str, Said]:
        """Judge tensors that differ by the noise, by name; those that rounding may not change are left out.

        Args:
            candidate: The candidate's.
            reference: The reference's, of the same names.
        """
        names = [name for name in candidate if self.kind(name)]
        samples = self._samples(names) if names else None
        found = {}
        for name in names:
            own, other = to_numpy(candidate[name]), to_numpy(reference[name])
            if own.shape == other.shape and is_floating(dtype_of(own)) and is_floating(dtype_of(other)):
                found[name] = self._said(name, own, other, samples)
            elif samples is not None and is_floating(dtype_of(own)) == is_floating(dtype_of(other)):
                turned = self._turned(name, own, other, samples)
                found |= {name: turned} if turned is not None else {}
        return found

    def _samples(self, names: list[str]) -> Samples | None:
        if self._moved is None:
            return None
        feed = {self._own.get(name, name): array for name, array in self._reference.given.items()}
        return self._moved.samples(feed, self._kinds, list(dict.fromkeys(self._own[name] for name in names)))

    def _said(self, name: str, own: NDArray[Any], other: NDArray[Any], samples: Samples | None) -> Said:
        kind, made = self.kind(name), self._own[name]
        sampled: list[NDArray[Any]] = []
        if samples is not None and made in samples.exact:
            sampled = [samples.exact[made], *(sample[made] for sample in samples.perturbed)]
        if any(array.shape != other.shape for array in sampled):
            return self._open(name, Decisions(reshaped=True).text(kind, of_shape=True))
        beside = beside_masks(other.astype(np.float64).ravel())
        if beside is not None:
            own, other, *sampled = (array.ravel()[beside] for array in (own, other, *sampled))
        lost = _may_be_lost(sampled)
        if 2 * int(np.count_nonzero(lost)) > other.size:
            return self._open(name, f"rounding to {kind} on its way may make NaN or infinities of it (measured)")
        own, *sampled = (np.where(lost, other, own), *(np.where(lost, other, array) for array in sampled))
        scales = scales_of(other)
        levels = sampled_levels(sampled[0], sampled[1:], scales) if sampled else None
        if levels is not None and unit_of(kind) <= UNITS["float32"]:
            levels = tuple(level + level for level in levels)  # both sides round to it, each in an order of its own
        share = unit_of(kind) * (math.sqrt(self._depth[name]) if levels is None else 1.0)
        least = one_rounding(other, share, scales)
        how = "estimated" if levels is None else "measured"
        noise = least if levels is None else tuple(item.at_least(one) for item, one in zip(levels, least, strict=True))
        is_inner, flips = self._is_inner(name), name in self._flips
        said = explained(own, other, noise, scales, unit_of(kind), kind, is_inner=is_inner, flips=flips)
        return self._verdict(name, said, noise, own, other, how)

    def _turned(self, name: str, own: NDArray[Any], other: NDArray[Any], samples: Samples) -> Said | None:
        """Judge decisions and what they shape: those inside pass, outputs are undecided; None for other differences."""
        kind, made = self.kind(name), self._own[name]
        decisions = sampled_decisions(samples.exact[made], [sample[made] for sample in samples.perturbed])
        reshaped = own.shape != other.shape
        what = shape_reason(own, other) if reshaped else f"{np.count_nonzero(own != other)} elements differ"
        if decisions.explain(own, other):
            return self._open(name, f"{what}; {decisions.text(kind, of_shape=reshaped)}")
        if self._is_inner(name) and is_steps(kind):
            return Said(
                False, f"{what}; steps of {kind} make numbers equal that are not, as no sample does", "undecided"
            )
        return None

    def _open(self, name: str, reason: str) -> Said:
        """Return the judgement of a difference that rounding may make: it is open for outputs, and passes inside."""
        is_inner = self._is_inner(name)
        return Said(is_inner, reason, "" if is_inner else "undecided")

    def _is_inner(self, name: str) -> bool:
        return name in self._read and self._own[name] not in self._ends

    def _verdict(
        self, name: str, said: Explained, noise: tuple[Level, ...], own: NDArray[Any], other: NDArray[Any], how: str
    ) -> Said:
        kind = self.kind(name)
        bound = (
            f"rounding to {kind} on its way explains up to {MARGIN * max(level.largest for level in noise):.2g} ({how})"
        )
        if said.word == "fault":
            return Said(False, f"{said.why}; {bound}")
        if not self._is_inner(name):
            doubt = said.why if said.word and not is_steps(kind) else lost_channels(own, other)
            if doubt:
                return Said(False, f"{doubt}; {bound}", "undecided")
        noise_left = max(_shares(own, other))
        if not self._is_inner(name) and noise_left > NO_DIGIT_LEFT:
            return Said(
                False,
                f"noise of {noise_left:.2g} times the signal, which all parts together bring: polycmp locate --rank "
                f"says which of them most, with rounding to {kind}",
                "undecided",
            )
        return Said(True, bound)


def _may_be_lost(sampled: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which numbers rounding may make NaN or infinite, as in the samples of a tensor after the exact one."""
    finite = [np.isfinite(array.astype(np.float64)) for array in sampled]
    lost: NDArray[np.bool_] = finite[0] & ~np.logical_and.reduce(finite[1:]) if sampled else np.zeros((), np.bool_)
    return lost


def _shares(own: NDArray[Any], other: NDArray[Any]) -> Iterator[float]:
    """Yield the error of a tensor as a share of its numbers: on average (root mean square), and of the largest."""
    error, size = own.astype(np.float64) - other, other.astype(np.float64)
    yield relative_to(root_mean_square(error), root_mean_square(size))
    yield relative_to(float(np.abs(error).max(initial=0.0)), float(np.abs(size).max(initial=0.0)))


def held_alike(candidate: Any, reference: Any) -> tuple[Any, Any]:
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
