"""The noise that rounding makes of tensors: one rule for one file and for two, for outputs and tensors inside.

*What is moved.* The reference's model runs as it is, and again with every tensor that an operator calculates moved;
numbers that operators only hand on stay. Where a side's type is coarser than the model's, its weights are rounded to
it, and inputs move, too. So they do, by a rounding to their own type, beside a saved run: its program may have been
fed with others, of which those of the file are a rounding.

*By how much.* Each number at random by up to one rounding to the side's type; in float32 and wider, where sums
round several times, by up to two, and the sum or mean of n numbers along axes by √(n/3), as adding them one after
the other does. What a product reads moves before it, in float32 and wider also what no operator makes, since its
terms are rounded, which cancellation leaves over (Wilkinson's backward error). Whole numbers stay, being mostly
exact, and results of functions that kernels approximate (`polycmp.precision.BESIDE_ONE`) move by no less than a
rounding of 1 to the side's type. Where a tensor is rounded to steps of a scale, each number moves by up to half a
step: that of the file where it is known, or else of 255 over the tensor's range. Rounding is random: its errors
have both signs, and they add up like a random walk (Higham and Mary, A New Approach to Probabilistic Rounding Error
Analysis, SIAM J. Sci. Comput. 41(5), 2019). Running the model with moved tensors measures their effect, however it
is amplified or damped.

*How often.* `SAMPLES` times, with other random numbers each time. The noise of a tensor (`Level`) is the largest error
of any sample, and the root mean square of all, in which those that are not taken yet count as equal to what is not
moved. So more samples only add to it, and what passes by the first one is not moved again. Nor is what fails by it
for a reason that no sample changes: the files tell that they are others, or the error is far beyond it where nothing
decides between numbers that are nearly equal.

*Decisions* turn by chance, and one in a few samples: where whole numbers or shapes differ, tensors move by `MARGIN`
times as much, which is what real numbers may be off by, `DECISION_SAMPLES` times. What differs where none of these
samples does was decided by something else.

*Both sides* round: their noises are added. Each is at least one rounding of an operator. A side whose type is finer by
eight bits or more adds no more than that, and is not run. Where a tensor holds steps of a scale, one number may be next
to a tie that no sample turns, and so a step off.

A model without a graph is moved by its own backend (`RunnerTools.perturbed`), and nothing of what it is fed.
Where no backend can run a model so, the noise is estimated: a rounding for each operator on the way to the tensor,
which add up like a random walk. The source says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.decisions import Decisions, sampled_decisions
from polycmp.builtin.judging.levels import Level, Values, finite_places, one_tie, rounded_levels, sampled_levels
from polycmp.builtin.judging.limits import SAMPLES
from polycmp.builtin.judging.measured import MeasuredJudge
from polycmp.builtin.judging.network import network_of
from polycmp.builtin.judging.samples import PerturbedRuns, Samples, coarsest
from polycmp.builtin.judging.structure import same_structure
from polycmp.builtin.judging.types import (
    cast_weights,
    grid_steps,
    own_types,
    quantised_tensors,
    round_alike,
    samples_vary,
    shared_roundings,
    types_inside,
    types_of,
    types_on_the_way,
)
from polycmp.builtin.judging.verdict import Floor, Network
from polycmp.errors import UsageError
from polycmp.graph import ModelGraph, PerturbableGraph, Rounding
from polycmp.model import Model
from polycmp.precision import CUTTING, UNITS, operator_rounding, unit_of
from polycmp.runs import Resolved, ResolvedBackend
from polycmp.tensors import Feed

Array = NDArray[Any]
#: A side that rounds so much less than the other one is not run with its own roundings (choice: the sum of both noises
#: is off by less than half a per cent).
_NEGLIGIBLE = 2.0**-8


class Side(NamedTuple):
    """Rounding of one of two runs.

    Attributes:
        kinds: Type or step that each tensor is rounded to, by its name in the reference's model; that of all others
            under the empty name.
        kind: The coarsest type that the other run does not round to alike.
        on_the_way: The coarsest type on the way to a tensor, by name, where that is less.
    """

    kinds: Mapping[str, Rounding]
    kind: str
    on_the_way: Mapping[str, str] = MappingProxyType({})

    def kind_of(self, name: str) -> str:
        """Return the coarsest type on the way to a tensor."""
        return self.on_the_way.get(name, self.kind)


class _Types(NamedTuple):
    """Types of a model.

    Attributes:
        whole: Those that it rounds to inside, `int8` for steps of a scale, and those in which its file holds weights.
        real: Those of real numbers that it rounds to inside.
        holds_coarser: Whether its file holds weights in a coarser type than it calculates in.
    """

    whole: frozenset[str]
    real: frozenset[str]
    holds_coarser: bool


class Sides(NamedTuple):
    """Rounding of two runs.

    Attributes:
        base: The run whose model is moved.
        both: The rounding of each.
    """

    base: ResolvedBackend
    both: list[Side]


def floor_of(
    name: str,
    expected: Values,
    sides: Sequence[Side],
    samples: Sequence[Samples | None],
    depth: int,
    uncut: str = "",
    *,
    step: float = 0.0,
    count: int = SAMPLES,
) -> Floor:
    """Return the noise of a tensor, of both sides together.

    Args:
        name: The tensor's name in the reference's model.
        expected: The tensor, and which of its numbers are judged.
        sides: The rounding of both sides.
        samples: Samples of the tensors of each side; None where nothing can run the model so.
        depth: Number of operators that follow each other up to the tensor.
        uncut: Name of the tensor that it is where nothing is cut off; empty where it is no such tensor.
        step: The step of a scale by which its numbers lie apart; 0 where they may lie anywhere.
        count: How many samples are looked at.
    """
    kinds = [side.kind_of(name) for side in sides]
    kind = max(kinds, key=unit_of)
    levels: list[tuple[Level, ...]] = []
    sources = []
    levels_of: dict[int, tuple[Level, ...] | None] = {}  # both sides have the same samples where they round alike
    for side_kind, sampled in zip(kinds, samples, strict=True):
        least = rounded_levels(expected, operator_rounding(unit_of(side_kind)))
        if unit_of(side_kind) <= _NEGLIGIBLE * unit_of(kind):
            levels.append(least)
            continue
        if id(sampled) not in levels_of:
            levels_of[id(sampled)] = _measured(name, expected, sampled, count, uncut)
        measured = levels_of[id(sampled)]
        if measured is None and sampled is not None and sampled.inside and name in sampled.exact:
            source = f"{side_kind} measured with {sampled.backend}, which makes other shapes, NaN or infinities of it"
            return Floor(rounded_levels(expected, 1.0), side_kind, source)
        if sampled is None or not sampled.inside or measured is None:
            least = rounded_levels(expected, unit_of(side_kind) * math.sqrt(depth))
            where = "one operator" if depth == 1 else f"{depth} operators in a row"
            sources.append(f"{side_kind} in {where}, estimated")
        else:
            sources.append(f"{side_kind} measured with {sampled.backend}")
        levels.append(least if measured is None else tuple(a.at_least(b) for a, b in zip(measured, least, strict=True)))
    both = tuple(a + b for a, b in zip(*levels, strict=True))
    if step:
        both = tuple(level + tie for level, tie in zip(both, one_tie(expected, step), strict=True))
    finest = min(zip(kinds, levels, strict=True), key=lambda pair: unit_of(pair[0]))[1]
    return Floor(both, kind, " and ".join(dict.fromkeys(sources)), finest)


def _measured(
    name: str, expected: Values, samples: Samples | None, count: int, uncut: str = ""
) -> tuple[Level, ...] | None:
    """Return the noise of a tensor as samples show it, and where it is cut no less than before that.

    Samples that stay beyond the bound show nothing, where a few times as much crosses it.
    """
    exact = samples.exact.get(name) if samples is not None else None
    if samples is None or exact is None or exact.shape != expected.whole.shape:
        return None
    moved = [tensors[name] for tensors in samples.perturbed(count)]
    if any(array.shape != exact.shape for array in moved):
        return None
    levels = sampled_levels(expected.kept(exact), map(expected.kept, moved), expected.scales)
    before = _measured(uncut, expected, samples, count) if uncut else None
    if levels is None or before is None:
        return levels
    return tuple(cut.at_least(whole) for cut, whole in zip(levels, before, strict=True))


def lost_in(name: str, reference: Array, samples: Sequence[Samples | None], *, count: int) -> NDArray[np.bool_] | None:
    """Return which numbers of a tensor samples make NaN or infinite; None where none, or they have other shapes."""
    lost: NDArray[np.bool_] | None = None
    for sampled in _holding(name, samples):
        exact, moved = sampled.exact[name], [tensors[name] for tensors in sampled.perturbed(count)]
        if any(array.shape != reference.shape for array in (exact, *moved)):
            return None
        for array in moved:
            finite = finite_places(array)
            if not finite.all():
                here = finite_places(exact) & ~finite
                lost = here if lost is None else lost | here
    return lost if lost is not None and lost.any() else None


def turned_in(name: str, samples: Sequence[Samples | None], *, count: int) -> Decisions:
    """Return what samples turn of whole numbers, and of shapes, where rounding is as large as it may be."""
    turned = Decisions()
    for sampled in _holding(name, samples):
        turned += sampled_decisions(sampled.exact[name], [tensors[name] for tensors in sampled.amplified(count)])
    return turned


def _holding(name: str, samples: Sequence[Samples | None]) -> list[Samples]:
    """Return the samples that hold a tensor, each once: both sides have the same where they round alike."""
    each_once = {id(sampled): sampled for sampled in samples}.values()
    return [sampled for sampled in each_once if sampled is not None and name in sampled.exact]


class RoundingTolerances:
    """What rounding does to the tensors of runs, as `polycmp.runs.Tolerances` describes it.

    Args:
        resolved: The backends and their models.
        reference: Label of the reference; another than a backend's means the last backend.
        other_model: Whether such a reference ran a model of its own, which rounds less.

    Raises:
        UsageError: There is no backend.
    """

    def __init__(self, resolved: Resolved, reference: str, *, other_model: bool = False) -> None:
        if not resolved.backends:
            raise UsageError("--tolerance auto needs a backend", why="rounding is measured by running the model")
        labels = [backend.label for backend in resolved.backends]
        self.resolved: Resolved = resolved
        self._other_model = other_model
        self._is_saved = reference not in labels
        self._reference = resolved.backend(labels[-1] if self._is_saved else reference)
        self._graphs: dict[Model, ModelGraph | None] = {}
        self._types: dict[Model, _Types] = {}
        self._sides: dict[tuple[str, str], Sides] = {}
        self._feed: Feed = {}
        self._outputs: Sequence[str] | None = None
        self._moved: dict[str, PerturbedRuns] = {}
        self._samples: dict[tuple[str, frozenset[tuple[str, Rounding]]], Samples | None] = {}
        self._known: dict[tuple[str, str], tuple[Sides, list[Samples | None]]] = {}
        self._networks: dict[tuple[str, str], tuple[Network, str]] = {}

    def begin(self, feed: Feed, outputs: Sequence[str] | None = None) -> None:
        """Take other inputs, or the names of other tensors; None for the model's outputs."""
        if feed is not self._feed:
            self._types, self._sides = {}, {}
        self._feed, self._outputs, self._samples, self._known = feed, outputs, {}, {}

    def close(self) -> None:
        """Drop the noise measured so far."""
        self._samples, self._known = {}, {}

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> MeasuredJudge:
        """Return the compare function that judges by the noise of two runs."""
        return MeasuredJudge(options, self.between(candidate, reference), detail)

    def between(self, one: str, two: str) -> PairRounding:
        """Return what tells of the noise between two runs."""
        return PairRounding(self, one, two)

    def name_of(self, output: str, base: ResolvedBackend) -> str:
        """Return an output's name in the model that is moved, by its name in the candidate's.

        Beside a saved reference that is a candidate's own model.
        """
        is_the_others = base is self._reference and not self._is_saved
        return self.resolved.plan.compare.map_output.get(output, output) if is_the_others else output

    def samples_of(self, one: str, two: str) -> tuple[Sides, list[Samples | None]]:
        """Return the run whose model is moved, the types that both runs round to, and samples of each.

        The types take a look at every operator, and there may be an output of each: so once for all outputs.

        Args:
            one: Label of a run.
            two: Label of the other.
        """
        pair = one, two
        if pair not in self._known:
            if pair not in self._sides:
                self._sides[pair] = self._sides_of(one, two)
            base, sides = self._sides[pair]
            most = max(unit_of(side.kind) for side in sides)
            samples = [
                self._sampled(base, side.kinds) if unit_of(side.kind) > _NEGLIGIBLE * most else None for side in sides
            ]
            self._known[pair] = self._sides[pair], samples
        return self._known[pair]

    def network(self, one: str, two: str) -> tuple[Network, str]:
        """Return what the files of two runs hold, told without a run, and what is said of it.

        Args:
            one: Label of the run to judge.
            two: Label of the run to believe.
        """
        if (one, two) not in self._networks:
            self._networks[one, two] = self._network(one, two)
        return self._networks[one, two]

    def _network(self, *labels: str) -> tuple[Network, str]:
        runs = [backend for label in labels for backend in self.resolved.backends if backend.label == label]
        graphs = {backend.model.path: graph for backend in runs if (graph := self._graph(backend)) is not None}
        compare = self.resolved.compare_networks if len(graphs) > 1 else None
        if compare is None:
            return "", ""
        settings = {(run.plan.backend, run.plan.elsewhere, str(run.make_result().options)) for run in runs}
        return network_of(*graphs.values(), compare=compare, is_one_backend=len(settings) == 1)

    def _sampled(self, base: ResolvedBackend, kinds: Mapping[str, Rounding]) -> Samples | None:
        """Return the tensors moved as rounding to these types moves them; None where nothing can.

        Args:
            base: The backend whose model is moved.
            kinds: Type that each tensor is rounded to, by name; that of all others under the empty name.
        """
        key = base.label, frozenset(kinds.items())
        if key not in self._samples:
            moved = self._moved.setdefault(base.label, PerturbedRuns(base, self._graph(base)))
            names = [self.name_of(name, base) for name in self._outputs or ()]
            self._samples[key] = moved.samples(self._feed, kinds, list(dict.fromkeys(names)) or None)
        return self._samples[key]

    def _sides_of(self, one: str, two: str) -> Sides:
        """Return the run whose model is moved, and the types that both round to.

        The model that rounds less is moved, which is the reference's if both do alike: of a model that rounds to steps
        nothing tells how far they are from the numbers that were rounded. Codes in a model that both run are the same
        on both sides, and so is what they are multiplied out to.
        """
        backends = [self._backend(label) for label in (one, two)]
        first, second = (self._graph(backend) for backend in backends)
        units = [unit_of(self._inside(backend, whole=True)) for backend in backends]
        alike = (
            not self._other_model
            and first is not None
            and second is not None
            and (same_structure(first, second) or (units[0] == units[1] and round_alike(first, second, self._feed)))
        )
        base = backends[0] if not alike and units[0] < units[1] else backends[1]
        sides = [self._side(backend, self._graph(base), alike=alike) for backend in backends]
        if not {one, two} <= {backend.label for backend in self.resolved.backends}:
            sides = [side._replace(kinds={**dict.fromkeys(self._feed, side.kinds[""]), **side.kinds}) for side in sides]
        return Sides(base, sides)

    def _side(self, backend: ResolvedBackend, exact: ModelGraph | None, *, alike: bool) -> Side:
        """Return the types that a backend rounds to: of what its model quantises by name, of all else under no name."""
        graph = self._graph(backend)
        whole, real = self._kind(backend, whole=True), self._kind(backend, whole=False)
        if graph is None or exact is None:
            return Side({"": whole}, whole)
        if alike:
            return self._inside_both(backend, exact, real)
        rounded = quantised_tensors(graph, exact) if whole == "int8" or self._file_types(backend).holds_coarser else {}
        kinds = {"": real, **rounded} if rounded else {"": whole}
        return Side(kinds, coarsest(kinds))

    def _inside_both(self, backend: ResolvedBackend, exact: ModelGraph, real: str) -> Side:
        """Return the types of a backend whose model rounds to what the reference's does: each tensor to its own."""
        steps = shared_roundings(exact, backend.precision)
        if backend.precision:
            return Side({"": real, **steps}, real)
        types = own_types(exact, self._feed)
        finest = min(types.values(), key=unit_of, default=real)
        on_the_way = types_on_the_way(exact, types)
        kinds = {name: kind or finest for name, kind in on_the_way.items()}
        return Side({"": finest, **types, **steps}, real, kinds)

    def _backend(self, label: str) -> ResolvedBackend:
        labels = [backend.label for backend in self.resolved.backends]
        return self.resolved.backend(label) if label in labels else self._reference

    def _kind(self, backend: ResolvedBackend, *, whole: bool) -> str:
        return backend.precision or self._inside(backend, whole=whole)

    def _inside(self, backend: ResolvedBackend, *, whole: bool) -> str:
        """Return the coarsest type inside a model, steps of a scale and types of weights among them if `whole`."""
        types = self._file_types(backend)
        return max(types.whole if whole else types.real, key=UNITS.__getitem__, default="float32")

    def _file_types(self, backend: ResolvedBackend) -> _Types:
        model, graph = backend.model, self._graph(backend)
        if model not in self._types:
            inside = frozenset[str]() if graph is None else types_inside(graph, types_of(graph, self._feed))
            held = set[str]() if graph is None else set(cast_weights(graph).values())
            self._types[model] = _Types(inside | held, inside - {"int8"}, bool(held))
        return self._types[model]

    def _graph(self, backend: ResolvedBackend) -> ModelGraph | None:
        model = backend.model
        if model not in self._graphs:
            self._graphs[model] = model.graph()
        return self._graphs[model]

    def depth(self, name: str) -> int:
        """Return the number of operators that follow each other up to a tensor; 1 where no graph is known."""
        depth = self._depths.get(name)
        return max(self._depths.values(), default=1) if depth is None else depth

    def is_inner(self, output: str) -> bool:
        """Return whether a tensor is none of the outputs that the reference's file has."""
        return bool(self._finals) and self.name_of(output, self._reference) not in self._finals

    def holds_codes(self, output: str) -> bool:
        """Return whether whole numbers in an output stand for real ones, as the steps of a scale do."""
        return self.name_of(output, self._reference) in self.steps

    @cached_property
    def steps(self) -> Mapping[str, float]:
        """The steps of a scale that tensors hold, by name."""
        return {} if self._known_graph is None else grid_steps(self._known_graph)

    @cached_property
    def samples_vary(self) -> bool:
        """Whether one sample of the noise of any side may be far smaller than others, or nothing is known of it."""
        graphs = {backend.model: self._graph(backend) for backend in (self._reference, *self.resolved.backends)}
        return any(
            not isinstance(graph, PerturbableGraph) or samples_vary(graph, types_of(graph, self._feed))
            for graph in graphs.values()
        )

    @cached_property
    def _finals(self) -> frozenset[str]:
        described = self._reference.model.describe_file()
        return frozenset() if described is None else frozenset(described.outputs)

    @cached_property
    def uncut(self) -> Mapping[str, str]:
        """The tensors that operators read which only cut them, by the names of what these make."""
        return {} if self._known_graph is None else uncut_tensors(self._known_graph)

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        return {} if self._known_graph is None else depths_of(self._known_graph)

    @cached_property
    def _known_graph(self) -> ModelGraph | None:
        backends = (self._reference, *self.resolved.backends)
        return next((graph for backend in backends if (graph := self._graph(backend)) is not None), None)


class PairRounding:
    """The noise of the tensors of two runs, as `polycmp.builtin.judging.measured` asks for it.

    Args:
        tolerances: Runs the reference's model.
        one: Label of a run.
        two: Label of the other.
    """

    def __init__(self, tolerances: RoundingTolerances, one: str, two: str) -> None:
        self._tolerances, self._labels = tolerances, (one, two)

    def floor(self, output: str, expected: Values, *, count: int = SAMPLES) -> Floor:
        """Return the noise of a tensor of real numbers, of both sides together."""
        name, sides, samples = self._known(output)
        uncut = self._tolerances.uncut.get(name, "") if self.is_inner(output) else ""
        depth, step = self._tolerances.depth(name), self._tolerances.steps.get(name, 0.0)
        return floor_of(name, expected, sides, samples, depth, uncut, step=step, count=count)

    def lost(self, output: str, reference: Array, *, count: int) -> NDArray[np.bool_] | None:
        """Return which of its numbers rounding may make NaN or infinite; None where none."""
        name, _, samples = self._known(output)
        return lost_in(name, reference, samples, count=count)

    def decisions(self, output: str, *, count: int) -> tuple[Decisions, str]:
        """Return what rounding turns of whole numbers and of shapes, and the type that is rounded to."""
        name, sides, samples = self._known(output)
        return turned_in(name, samples, count=count), max((side.kind for side in sides), key=unit_of)

    def is_inner(self, output: str) -> bool:
        """Return whether operators read the tensor, which is no output of the model."""
        return self._tolerances.is_inner(output)

    def holds_codes(self, output: str) -> bool:
        """Return whether whole numbers in an output stand for real ones, as the steps of a scale do."""
        return not self.is_inner(output) and self._tolerances.holds_codes(output)

    def samples_vary(self) -> bool:
        """Return whether one sample of the noise may be far smaller than others, for all that is known."""
        return self._tolerances.samples_vary

    def network(self) -> tuple[Network, str]:
        """Return what the files of both sides hold, told without a run, and what is said of it."""
        return self._tolerances.network(*self._labels)

    def advice(self, output: str, reference: Array) -> str:
        """Return what to do where rounding may explain a difference that is no small one."""
        data = self._tolerances.resolved.plan.data
        return decide_by_the_task(reference.shape, is_real=bool(data.files or data.script))

    def _known(self, output: str) -> tuple[str, list[Side], list[Samples | None]]:
        """Return the name of a tensor in the model that is moved, both sides, and the samples of each."""
        (base, sides), samples = self._tolerances.samples_of(*self._labels)
        return self._tolerances.name_of(output, base), sides, samples


def uncut_tensors(graph: ModelGraph) -> dict[str, str]:
    """Return what operators read that only cut it, by the name of what they make."""
    return {node.outputs[0]: node.operand(0) for node in graph.nodes if node.op_type in CUTTING and node.outputs}


def depths_of(graph: ModelGraph) -> dict[str, int]:
    """Return the number of operators that follow each other up to each tensor, by name."""
    depths: dict[str, int] = {}
    for node in graph.nodes:
        depth = 1 + max((depths.get(name, 0) for name in node.inputs), default=0)
        depths.update(dict.fromkeys(node.outputs, depth))
    return depths


def decide_by_the_task(shape: Sequence[int], *, is_real: bool) -> str:
    """Propose a way to decide where rounding may explain a difference.

    Args:
        shape: The output's shape.
        is_real: Whether the inputs are the user's own.
    """
    metric = "--compare topk_agreement" if len(shape) > 1 and shape[-1] > 1 else "--compare cosine_similarity"
    inputs = "" if is_real else ", on inputs of your own (--load-inputs FILE)"
    return f"judge what it is used for instead, such as {metric}{inputs}"
