"""Rounding error of a model's outputs, measured by running the reference's model with its tensors moved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import NDArray

from polycmp.compare import Decisions, Scales, one_rounding, sampled_decisions, sampled_levels
from polycmp.errors import UsageError
from polycmp.graph import ModelGraph, Rounding
from polycmp.layerwise import (
    PerturbedRuns,
    Samples,
    accumulated_tensors,
    behind_codes,
    coarsest,
    own_types,
    quantised_tensors,
    rounds_alike,
    same_structure,
    types_inside,
    types_on_the_way,
)
from polycmp.precision import UNITS, allowed_precision, operator_rounding, unit_of
from polycmp.runs import Resolved, ResolvedBackend
from polycmp.sentences import explained_by_rounding
from polycmp.tensors import Feed
from polycmp_checks.rounding.judge import BY_THE_TASK, NoiseFloor, NoiseJudge

#: Number of outputs that are named.
_NAMED = 4


class _Side(NamedTuple):
    """Rounding of one run.

    Attributes:
        kinds: Type that each tensor is rounded to, by name; that of all others under the empty name.
        kind: The coarsest type that the other run does not round to alike.
        on_the_way: The coarsest type on the way to a tensor, by name, where that is less.
        behind_codes: Tensors made of codes that both runs round to, and that may be a step apart.
    """

    kinds: Mapping[str, Rounding]
    kind: str
    on_the_way: Mapping[str, str] = MappingProxyType({})
    behind_codes: frozenset[str] = frozenset()


class NoiseFloors:
    """The noise floors of a run's outputs.

    `polycmp.compare.noise` says what is measured. Where a model cannot be run so, the reference runs on moved inputs;
    the noise is then at least that of as many roundings as operators lie in a row, which add up like a random walk.

    Args:
        resolved: The backends and their models.
        reference: Label of the reference; another than a backend's means the last backend.

    Raises:
        UsageError: There is no backend.
    """

    def __init__(self, resolved: Resolved, reference: str) -> None:
        if not resolved.backends:
            raise UsageError("--tolerance auto needs a backend", why="rounding is measured by running the model")
        labels = [backend.label for backend in resolved.backends]
        self._resolved = resolved
        self._reference = resolved.backend(reference if reference in labels else labels[-1])
        self._graphs: dict[str, ModelGraph | None] = {}
        self._alike: dict[tuple[str, ...], bool] = {}
        self._types: dict[str, frozenset[str]] = {}
        self._feed: Feed = {}
        self._made: dict[frozenset[tuple[str, Rounding]], Samples | None] = {}

    def begin(self, feed: Feed) -> None:
        """Take other inputs."""
        self._feed, self._made, self._types = feed, {}, {}

    def close(self) -> None:
        """Drop the noise measured so far."""
        self._made = {}

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> NoiseJudge:
        """Return the compare function that judges by the noise floor between two runs."""
        floor, decisions = self.between(candidate, reference), self.decisions(candidate, reference)
        return NoiseJudge(options, floor, decisions, detail)

    def between(self, one: str, two: str) -> Callable[[str, NDArray[Any], Scales], NoiseFloor]:
        """Return the function for the noise floor between two runs: output, reference values and scales to floor."""

        def floor(output: str, reference: NDArray[Any], scales: Scales) -> NoiseFloor:
            sides = self._sides(one, two)
            parts = [self._floor(side, output, reference, scales) for side in sides]
            source = " and ".join(dict.fromkeys(part.source for part in parts))
            levels = tuple(mine + other for mine, other in zip(parts[0].levels, parts[1].levels, strict=True))
            kind = max((part.kind for part in parts), key=unit_of)
            made = self._resolved.plan.compare.map_output.get(output, output)
            flips = any(made in side.behind_codes for side in sides)
            return NoiseFloor(levels, kind, source, any(part.estimated for part in parts), flips)

        return floor

    def decisions(self, one: str, two: str) -> Callable[[str, NDArray[Any]], tuple[Decisions, str]]:
        """Return a function of an output and the reference's values: what rounding turns of it, and the type."""

        def turned(output: str, reference: NDArray[Any]) -> tuple[Decisions, str]:
            sides = self._sides(one, two)
            output = self._resolved.plan.compare.map_output.get(output, output)
            found = Decisions()
            for side in sides:
                samples = self._samples(side.kinds)
                exact = samples.exact.get(output) if samples is not None else None
                if samples is not None and exact is not None:
                    found += Decisions(reshaped=exact.shape != reference.shape)
                    found += sampled_decisions(exact, [made[output] for made in samples.perturbed])
            return found, max((side.kind for side in sides), key=unit_of)

        return turned

    def explanation(self, one: str, two: str, shares: Mapping[str, float]) -> str:
        """Return in words whether rounding may explain the errors of outputs, by estimate alone.

        Args:
            one: Label of a run.
            two: Label of the other.
            shares: The largest error of each output over its largest magnitude.
        """
        kind = max((side.kind for side in self._sides(one, two)), key=unit_of)
        depth = self._depth
        most = 4.0 * unit_of(kind) * math.sqrt(depth)
        said = explained_by_rounding(kind, depth, most)
        within = [name for name, share in shares.items() if share <= most]
        if not within:
            return f"{said}, unless the model amplifies it"
        some = ", ".join(map(repr, within[:_NAMED])) + (f" and {len(within) - _NAMED} more" if within[_NAMED:] else "")
        which = "that may be all there is" if len(within) == len(shares) else f"that may be all there is to {some}"
        return f"{said}; {which}: {BY_THE_TASK if kind == 'int8' else 'try --tolerance auto'}"

    def _floor(self, side: _Side, output: str, reference: NDArray[Any], scales: Scales) -> NoiseFloor:
        """Return the noise floor of one side."""
        samples = self._samples(side.kinds)
        output = self._resolved.plan.compare.map_output.get(output, output)  # samples are under the reference's names
        kind = side.on_the_way.get(output, side.kind)
        exact = samples.exact.get(output) if samples is not None else None
        levels, estimated = None, False
        if samples is not None and exact is not None and exact.shape == reference.shape:
            levels = sampled_levels(exact, [made[output] for made in samples.perturbed], scales)
        if samples is not None and samples.inside and exact is not None and levels is None:
            source = f"{kind} measured with {samples.backend}, which makes other shapes, NaN or infinities of it"
            return NoiseFloor(one_rounding(reference, 1.0, scales), kind, source)
        if levels is not None and samples is not None and samples.inside:
            share, source = operator_rounding(unit_of(kind)), f"{kind} measured with {samples.backend}"
        else:
            share = unit_of(kind) * math.sqrt(self._depth)
            source, estimated = f"{kind} in {self._depth} operators in a row, estimated", True
        least = one_rounding(reference, share, scales)
        if levels is not None:
            least = tuple(item.at_least(other) for item, other in zip(levels, least, strict=True))
        return NoiseFloor(least, kind, source, estimated)

    def _samples(self, kinds: Mapping[str, Rounding]) -> Samples | None:
        """Return the outputs with tensors moved as rounding to these types moves them; None where nothing can."""
        key = frozenset(kinds.items())
        if key not in self._made:
            self._made[key] = self._moved.samples(self._feed, kinds)
        return self._made[key]

    @cached_property
    def _moved(self) -> PerturbedRuns:
        return PerturbedRuns(self._reference, self._graph(self._reference))

    def _sides(self, *labels: str) -> list[_Side]:
        """Return the types that each run rounds to: what its options allow, or what is inside its model.

        Codes in a model that both run are the same on both sides, and so is what they are multiplied out to.
        """
        backends = [self._backend(label) for label in labels]
        if labels not in self._alike:  # asked for each output, of which there may be thousands
            graphs = [self._graph(backend) for backend in backends]
            first = graphs[0]
            self._alike[labels] = first is not None and all(
                graph is not None and (same_structure(first, graph) or rounds_alike(first, graph, self._feed))
                for graph in graphs
            )
        return [self._side(backend, alike=self._alike[labels]) for backend in backends]

    def _side(self, backend: ResolvedBackend, *, alike: bool) -> _Side:
        """Return the types that a backend rounds to: of what its model quantises by name, of all else under no name."""
        graph, exact = self._graph(backend), self._graph(self._reference)
        whole, real = self._kind(backend, whole=True), self._kind(backend, whole=False)
        if graph is None or exact is None:
            return _Side({"": whole}, whole)
        if alike:
            return self._inside_both(backend, exact, real)
        if whole != "int8":
            return _Side({"": whole}, whole)
        rounded = quantised_tensors(graph, exact)
        kinds = {"": real, **rounded} if rounded else {"": whole}
        return _Side(kinds, coarsest(kinds))

    def _inside_both(self, backend: ResolvedBackend, exact: ModelGraph, real: str) -> _Side:
        """Return the types of a backend whose model rounds to what the reference's does: each tensor to its own."""
        steps = accumulated_tensors(exact)
        behind = behind_codes(exact)
        if self._allowed(backend):
            return _Side({"": real, **steps}, real, behind_codes=behind)
        own = own_types(exact, self._feed)
        finest = min(own.values(), key=unit_of, default=real)
        on_the_way = types_on_the_way(exact, own)
        kinds = {name: kind or finest for name, kind in on_the_way.items()}
        return _Side({"": finest, **own, **steps}, real, kinds, behind)

    def _backend(self, label: str) -> ResolvedBackend:
        labels = [backend.label for backend in self._resolved.backends]
        return self._resolved.backend(label) if label in labels else self._reference

    def _kind(self, backend: ResolvedBackend, *, whole: bool) -> str:
        return self._allowed(backend) or self._inside(backend, whole=whole)

    @staticmethod
    def _allowed(backend: ResolvedBackend) -> str:
        """Return the type that a backend's options let it calculate in; empty if they say nothing of it."""
        if backend.contribution is None:
            return ""
        return allowed_precision(dict(backend.contribution.spec.narrows), backend.plan.options)

    def _inside(self, backend: ResolvedBackend, *, whole: bool) -> str:
        """Return the coarsest type inside a model, steps of a scale among them if `whole` is true."""
        path = backend.model.path
        if path not in self._types:
            graph = self._graph(backend)
            self._types[path] = frozenset() if graph is None else types_inside(graph, self._feed)
        found = self._types[path] if whole else self._types[path] - {"int8"}
        return max(found, key=UNITS.__getitem__, default="float32")

    def _graph(self, backend: ResolvedBackend) -> ModelGraph | None:
        path = backend.model.path
        if path not in self._graphs:
            self._graphs[path] = backend.model.graph()
        return self._graphs[path]

    @cached_property
    def _depth(self) -> int:
        """Return the largest number of operators that follow each other, in the reference if it shows its graph."""
        others = (self._graph(backend) for backend in self._resolved.backends)
        graphs = [graph for graph in (self._graph(self._reference), *others) if graph is not None]
        return _longest_path(graphs[0]) if graphs else 1


def _longest_path(graph: ModelGraph) -> int:
    """Return the largest number of operators that follow each other in a graph."""
    lengths: dict[str, int] = {}
    for node in graph.nodes:
        length = 1 + max((lengths.get(name, 0) for name in node.inputs), default=0)
        lengths.update(dict.fromkeys(node.outputs, length))
    return max(lengths.values(), default=1)
