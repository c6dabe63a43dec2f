"""How far rounding takes the outputs of a model, measured: one backend calculates in float64 and in coarser types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.noise import Level, Scales, levels_of, one_rounding
from polycmp.errors import UsageError
from polycmp.graph import ModelGraph
from polycmp.options import find_field, make_options
from polycmp.plan import BackendPlan
from polycmp.plugins import missing_modules
from polycmp.precision import UNITS, allowed_precision, operator_rounding
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.resolve import Resolved, ResolvedBackend
from polycmp.tensors import Feed, TensorMetadata, dtype_name, is_floating, to_numpy
from polycmp_checks.rounding.judge import BY_THE_TASK, NoiseFloor, NoiseJudge
from polycmp_layerwise.quiet import only_errors
from polycmp_layerwise.structure import same_structure

if TYPE_CHECKING:
    from polycmp.plugins import Contributed
    from polycmp.spec import RunnerSpec

Tensors = Mapping[str, NDArray[Any]]
#: Bytes of weights up to which a model is also calculated by a slow evaluator.
AFFORDABLE = 1 << 29
#: Elements below which the largest error of one measurement says little of the next.
FEW = 64
#: Functions with results up to 1 that kernels approximate: errors have that scale however small the results are.
BESIDE_ONE = frozenset({"Sigmoid", "HardSigmoid", "Tanh", "Erf"})
#: Operators that hand such a result on.
MOVING = frozenset(
    {"Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Slice", "Gather", "Split",
     "Cast", "Resize", "Pad", "Expand", "Tile", "MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean",
     "ReduceMax", "Mul"}
)  # fmt: skip
#: Types whose numbers are steps of a scale.
STEPS = frozenset({"int2", "uint2", "int4", "uint4", "int8", "uint8"})


class NoiseFloors:
    """The noise floors of a run's outputs.

    A type's rounding is measured on the reference's model as the difference between what a backend makes of the inputs
    in that type and in float64. Where no backend can, the reference runs again on inputs that are moved by one unit in
    the last place. What a measurement of few elements may miss by luck is never less than the roundings of as many
    operators as lie in a row, which add up like a random walk (Higham and Mary, 2019, theorem 2.4).

    Args:
        resolved: The backends and their models.
        reference: Label of the reference; another than a backend's stands for the last backend.

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
        self._runs: dict[str, BackendRun] = {}
        self._feed: Feed = {}
        self._made: dict[str, Tensors | None] = {}

    def begin(self, feed: Feed) -> None:
        """Take other inputs."""
        self._feed, self._made, self._types = feed, {}, {}

    def close(self) -> None:
        """Deactivate what was run."""
        for run in self._runs.values():
            run.deactivate()

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> NoiseJudge:
        """Return the compare function that judges by the noise floor between two runs."""
        return NoiseJudge(options, self.between(candidate, reference), detail)

    def between(self, one: str, two: str) -> Callable[[str, NDArray[Any], Scales], NoiseFloor]:
        """Return what gives the noise floor between two runs, of an output, the reference's values and their scales."""

        def floor(output: str, reference: NDArray[Any], scales: Scales) -> NoiseFloor:
            kinds = self._kinds(one, two)
            parts = [self._floor(kind, output, reference, scales) for kind in kinds]
            source = " and ".join(dict.fromkeys(part.source for part in parts))
            levels = tuple(mine + other for mine, other in zip(parts[0].levels, parts[1].levels, strict=True))
            kind = max(kinds, key=lambda name: UNITS[name])
            return NoiseFloor(levels, kind, source)

        return floor

    def explanation(self, one: str, two: str, share: float) -> str:
        """Return in words whether rounding may explain an error, by estimate alone.

        Args:
            one: Label of a run.
            two: Label of the other.
            share: The largest error over the largest magnitude of the output.
        """
        kind = max(self._kinds(one, two), key=lambda name: UNITS.get(name, 0.0))
        depth = self._depth
        most = 4.0 * UNITS[kind] * math.sqrt(depth)
        said = f"rounding to {kind} in {depth} operators in a row"
        if share > most:
            known = f"{share:.2g} of the largest value, more than {said} explains ({most:.1g})"
            return f"{known} unless the model amplifies it"
        found = f"{share:.2g} of the largest value, which {said} may explain (up to {most:.1g})"
        return f"{found}: {BY_THE_TASK if kind == 'int8' else 'try --tolerance auto'}"

    def _floor(self, kind: str, output: str, reference: NDArray[Any], scales: Scales) -> NoiseFloor:
        """Return the noise floor of one side, which calculates in a type."""
        unit, depth = UNITS[kind], self._depth
        exact, made = self._pair("float64", kind, output)
        source = f"{kind} in {depth} operators in a row, estimated"
        measured: tuple[Level, ...] | None = None
        if exact is not None and made is not None and made.shape == reference.shape:
            measured = levels_of(made, exact, scales)
            source = f"{kind} measured against float64"
        else:
            moved = self._moved(output, reference, scales)
            if moved is not None:
                times = max(unit / UNITS["float32"], 1.0)
                measured = tuple(Level(times * item.largest, times * item.rms) for item in moved)
                source = f"{source}, and inputs moved by one unit in the last place"
        # One operator's roundings are there in any case; few elements may all be near the exact result by luck.
        lucky = exact is None or made is None or reference.size < FEW
        share = unit * math.sqrt(depth) if lucky else operator_rounding(unit)
        absolute = min(unit, UNITS["float32"]) if self._is_beside_one(output) else 0.0
        least = one_rounding(reference, share, scales, absolute)
        if measured is None:
            return NoiseFloor(least, kind, source)
        levels = tuple(item.at_least(other) for item, other in zip(measured, least, strict=True))
        return NoiseFloor(levels, kind, source)

    def _pair(self, one: str, two: str, output: str) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Return an output in two types, None where it cannot be calculated in one."""
        found = self._outputs(one), self._outputs(two)
        mine, other = ((made or {}).get(output) for made in found)
        return (mine, other) if mine is not None and other is not None and mine.shape == other.shape else (None, None)

    def _is_beside_one(self, output: str) -> bool:
        """Return whether an output is read beside numbers up to 1, as approximated functions make them."""
        graph = self._graph(self._reference)
        made = {name: node for node in (() if graph is None else graph.nodes) for name in node.outputs}
        todo, seen = [output], set()
        while todo:
            node = made.get(todo.pop())
            if node is None or node.outputs in seen:
                continue
            seen.add(node.outputs)
            if node.op_type in BESIDE_ONE:
                return True
            if node.op_type in MOVING:
                todo += node.inputs
        return False

    def _outputs(self, kind: str) -> Tensors | None:
        """Return the outputs of the reference's model calculated in a type; None where no backend can do so."""
        if kind not in self._made:
            own = kind == self._inside(self._reference, whole=False)
            backend = self._evaluator("" if own else kind)
            self._made[kind] = None if backend is None else self._infer(f"evaluator {kind}", backend, self._feed)
        return self._made[kind]

    def _moved(self, output: str, reference: NDArray[Any], scales: Scales) -> tuple[Level, ...] | None:
        """Return how far an output moves if the inputs do by one unit in the last place."""
        if "moved" not in self._made:
            self._made["moved"] = self._infer("moved", self._reference, _moved(self._feed))
        made = (self._made["moved"] or {}).get(output)
        return None if made is None or made.shape != reference.shape else levels_of(made, reference, scales)

    def _infer(self, key: str, backend: ResolvedBackend, feed: Feed) -> Tensors | None:
        with only_errors():
            if key not in self._runs:
                self._runs[key] = backend.make_run()
                self._runs[key].activate()
            made = self._runs[key].infer(feed)
        return None if made is None else {name: to_numpy(array) for name, array in copy_outputs(made).items()}

    def _evaluator(self, kind: str) -> ResolvedBackend | None:
        """Return a backend that calculates the reference's model in a type, the model's own if that is empty."""
        graph, model = self._graph(self._reference), self._reference.model
        if graph is None or sum(graph.weights.values()) > AFFORDABLE:
            return None
        for item in self._resolved.registry.runners.values():
            spec = item.spec
            values = _values_for(kind, item)
            if spec.precise and values is not None and model.can_load(spec.accepts):
                if missing_modules(spec):
                    continue
                options = make_options(spec.options, values, spec.name)
                return ResolvedBackend(BackendPlan(f"{spec.name} {kind}", spec.name, options), model, item)
        return None

    def _kinds(self, *labels: str) -> list[str]:
        """Return the type that each run calculates in: what its options allow, or the coarsest type inside its model.

        Whole numbers in a model that both run are the same on both sides, so they round nothing.
        """
        backends = [self._backend(label) for label in labels]
        if labels not in self._alike:  # asked for each output, of which there may be thousands
            graphs = [self._graph(backend) for backend in backends]
            first = graphs[0]
            same = first is not None and all(graph is not None and same_structure(first, graph) for graph in graphs)
            self._alike[labels] = same
        return [self._kind(backend, whole=not self._alike[labels]) for backend in backends]

    def _backend(self, label: str) -> ResolvedBackend:
        labels = [backend.label for backend in self._resolved.backends]
        return self._resolved.backend(label) if label in labels else self._reference

    def _kind(self, backend: ResolvedBackend, *, whole: bool) -> str:
        if backend.contribution is not None:
            allowed = allowed_precision(dict(backend.contribution.spec.narrows), backend.plan.options)
            if allowed:
                return allowed
        return self._inside(backend, whole=whole)

    def _inside(self, backend: ResolvedBackend, *, whole: bool) -> str:
        """Return the coarsest type inside a model, steps of a scale among them if `whole` is true."""
        path = backend.model.path
        if path not in self._types:
            graph = self._graph(backend)
            self._types[path] = frozenset() if graph is None else self._types_in(graph)
        found = self._types[path] if whole else self._types[path] - {"int8"}
        return max(found, key=UNITS.__getitem__, default="float32")

    def _types_in(self, graph: ModelGraph) -> frozenset[str]:
        types = graph.types(TensorMetadata.from_feed_dict(self._feed)) if self._feed else TensorMetadata()
        made = {name for node in graph.nodes for name in node.outputs}
        found = {entry.dtype for name, entry in types.items() if name in made and entry.dtype is not None}
        names = {dtype_name(dtype) for dtype in found if is_floating(dtype)}
        if any(dtype_name(dtype) in STEPS for dtype in found):
            names.add("int8")
        return frozenset(name for name in names if name in UNITS)

    def _graph(self, backend: ResolvedBackend) -> ModelGraph | None:
        path = backend.model.path
        if path not in self._graphs:
            self._graphs[path] = backend.model.graph()
        return self._graphs[path]

    @cached_property
    def _depth(self) -> int:
        """Return the largest number of operators that follow each other."""
        graph = self._graph(self._reference)
        lengths: dict[str, int] = {}
        for node in () if graph is None else graph.nodes:
            length = 1 + max((lengths.get(name, 0) for name in node.inputs), default=0)
            lengths.update(dict.fromkeys(node.outputs, length))
        return max(lengths.values(), default=1)


def _values_for(kind: str, item: Contributed[RunnerSpec]) -> dict[str, Any] | None:
    """Return the options with which a backend calculates in a type; None if it cannot."""
    spec = item.spec
    if not kind:
        return {}
    if kind == "float64":
        return dict(spec.precise) or None
    for field, coarse in spec.narrows:
        if coarse == kind:
            return {field: True}
        found = find_field(spec.options, field)
        if not coarse and found is not None and kind in (found.choices or ()):
            return {field: kind}
    return None


def _moved(feed: Feed) -> dict[str, Any]:
    """Return a feed whose real numbers are moved by one unit in the last place, up and down in turn."""
    moved = {}
    for name, value in feed.items():
        array = to_numpy(value)
        if array.dtype.kind == "f":
            towards = np.where(np.arange(array.size).reshape(array.shape) % 2, np.inf, -np.inf).astype(array.dtype)
            array = np.nextafter(array, towards)
        moved[name] = array
    return moved
