"""How far rounding takes the outputs of a model, measured: one backend calculates in float64 and in coarser types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import UsageError
from polycmp.graph import ModelGraph
from polycmp.options import find_field, make_options
from polycmp.plan import BackendPlan
from polycmp.plugins import missing_modules
from polycmp.precision import UNITS, allowed_precision, operator_rounding
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.resolve import Resolved, ResolvedBackend
from polycmp.tensors import Feed, TensorMetadata, dtype_class, dtype_name, is_floating, to_numpy
from polycmp_checks.rounding.judge import NoiseFloor, NoiseJudge, root_mean_square
from polycmp_layerwise.quiet import only_errors

if TYPE_CHECKING:
    from polycmp.plugins import Contributed
    from polycmp.spec import RunnerSpec

Tensors = Mapping[str, NDArray[Any]]
#: Bytes of weights up to which a model is also calculated by a slow evaluator.
AFFORDABLE = 1 << 29
#: Elements below which the largest error of one measurement says little of the next.
FEW = 64


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
        self._coarsest: dict[str, str] = {}
        self._runs: dict[str, BackendRun] = {}
        self._feed: Feed = {}
        self._made: dict[str, Tensors | None] = {}

    def begin(self, feed: Feed) -> None:
        """Take other inputs."""
        self._feed, self._made, self._coarsest = feed, {}, {}

    def close(self) -> None:
        """Deactivate what was run."""
        for run in self._runs.values():
            run.deactivate()

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> NoiseJudge:
        """Return the compare function that judges by the noise floor between two runs."""
        return NoiseJudge(options, self.between(candidate, reference), detail)

    def between(self, one: str, two: str) -> Callable[[str, NDArray[Any]], NoiseFloor]:
        """Return what gives the noise floor between two runs, by the output's name and the reference's values."""

        def floor(output: str, reference: NDArray[Any]) -> NoiseFloor:
            parts = [self._floor(kind, output, reference) for kind in map(self._kind, (one, two))]
            source = " and ".join(dict.fromkeys(part.source for part in parts))
            return NoiseFloor(sum(part.largest for part in parts), sum(part.rms for part in parts), source)

        return floor

    def explanation(self, one: str, two: str, share: float) -> str:
        """Return in words whether rounding may explain an error, by estimate alone.

        Args:
            one: Label of a run.
            two: Label of the other.
            share: The largest error over the largest magnitude of the output.
        """
        kind = max((self._kind(label) for label in (one, two)), key=lambda name: UNITS.get(name, 0.0))
        depth = self._depth()
        most = 4.0 * UNITS[kind] * math.sqrt(depth)
        said = f"rounding to {kind} in {depth} operators in a row"
        if share <= most:
            return (
                f"{share:.2g} of the largest value, which {said} may explain (up to {most:.1g}): try --tolerance auto"
            )
        return f"{share:.2g} of the largest value, more than {said} explains ({most:.1g}) unless the model amplifies it"

    def _floor(self, kind: str, output: str, reference: NDArray[Any]) -> NoiseFloor:
        """Return the noise floor of one side, which calculates in a type."""
        values = np.abs(reference.astype(np.complex128 if dtype_class(reference.dtype) == "complex" else np.float64))
        values = values[np.isfinite(values)]
        unit, depth = UNITS[kind], self._depth()
        errors = self._errors(kind, output)
        moved = self._moved(output, reference) if errors is None else None
        # One operator's roundings are there in any case; few elements may all be near the exact result by luck.
        steps = operator_rounding(unit) if errors is not None and errors.size >= FEW else unit * math.sqrt(depth)
        # Functions with results up to 1, such as Sigmoid, have errors of that scale however small these are.
        largest, rms = steps * float(values.max(initial=0.0)) + unit, steps * root_mean_square(values) + unit
        source = f"{kind} in {depth} operators in a row, estimated"
        if errors is not None:
            source = f"{kind} measured against float64"
        elif moved is not None:
            errors = max(unit / UNITS["float32"], 1.0) * moved
            source = f"{source}, and inputs moved by one unit in the last place"
        if errors is not None:
            largest, rms = max(largest, float(errors.max(initial=0.0))), max(rms, root_mean_square(errors))
        return NoiseFloor(largest, rms, source)

    def _errors(self, kind: str, output: str) -> NDArray[Any] | None:
        """Return the errors of an output in a type, None if that cannot be measured."""
        exact, made = self._outputs("float64"), self._outputs(kind)
        if exact is None or made is None or output not in exact or output not in made:
            return None
        errors = np.abs(made[output].astype(np.float64) - exact[output].astype(np.float64))
        return errors[np.isfinite(errors)]

    def _outputs(self, kind: str) -> Tensors | None:
        if kind not in self._made:
            own = self._inside(self._reference)
            backend = self._evaluator("" if kind == own else kind)
            self._made[kind] = None if backend is None else self._infer(f"evaluator {kind}", backend, self._feed)
        return self._made[kind]

    def _moved(self, output: str, reference: NDArray[Any]) -> NDArray[Any] | None:
        """Return how far an output moves if the inputs do by one unit in the last place."""
        if "moved" not in self._made:
            self._made["moved"] = self._infer("moved", self._reference, _moved(self._feed))
        moved = self._made["moved"]
        if moved is None or output not in moved or moved[output].shape != reference.shape:
            return None
        errors = np.abs(moved[output].astype(np.float64) - reference.astype(np.float64))
        return errors[np.isfinite(errors)]

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

    def _kind(self, label: str) -> str:
        """Return the type that a run calculates in: what its options allow, or the coarsest type inside its model."""
        labels = [backend.label for backend in self._resolved.backends]
        backend = self._resolved.backend(label) if label in labels else self._reference
        if backend.contribution is not None:
            allowed = allowed_precision(dict(backend.contribution.spec.narrows), backend.plan.options)
            if allowed:
                return allowed
        return self._inside(backend)

    def _inside(self, backend: ResolvedBackend) -> str:
        path = backend.model.path
        if path not in self._coarsest:
            graph = self._graph(backend)
            self._coarsest[path] = "float32" if graph is None else self._coarsest_in(graph)
        return self._coarsest[path]

    def _coarsest_in(self, graph: ModelGraph) -> str:
        types = graph.types(TensorMetadata.from_feed_dict(self._feed)) if self._feed else TensorMetadata()
        made = {name for node in graph.nodes for name in node.outputs}
        found = {entry.dtype for name, entry in types.items() if name in made and entry.dtype is not None}
        names = {dtype_name(dtype) for dtype in found if is_floating(dtype)}
        if any(dtype_name(dtype) in {"int8", "uint8", "int4", "uint4"} for dtype in found):
            names.add("int8")
        return max((name for name in names if name in UNITS), key=UNITS.__getitem__, default="float32")

    def _graph(self, backend: ResolvedBackend) -> ModelGraph | None:
        path = backend.model.path
        if path not in self._graphs:
            self._graphs[path] = backend.model.graph()
        return self._graphs[path]

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
