"""Everything that a plan names, looked up once: backends, their models, the source of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from polycmp._builtin_options import SimpleOptions
from polycmp._inputs import PlanSource, Reach, Reached, Silent, asked_shapes, make_source
from polycmp.compare.blindness import silent_outputs
from polycmp.compare.impostors import is_ours
from polycmp.compare.simple import Simple
from polycmp.errors import OthersCode, PluginError, UsageError
from polycmp.loader import Loader
from polycmp.model import Model, ModelSettings
from polycmp.options import changed_options, find_field
from polycmp.plan import BackendPlan, Plan
from polycmp.plan.defaults import DEFAULT_COMPARE
from polycmp.precision import allowed_precision
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun
from polycmp.runs.compare_functions import PlannedFunctions
from polycmp.runs.services import open_environments, open_workers
from polycmp.runs.sizes import ShapeSearch
from polycmp.tensors import DataSource, Feed, ModelDescription, TensorMetadata

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import DataLoaderSpec, RunnerSpec, Switch

#: Makes the runner of a backend in a worker process: of the model itself, or of the part that a loader makes.
MakeWorker = Callable[["ResolvedBackend", "Loader[Any] | None", bool], Runner]


@dataclass(frozen=True)
class ResolvedBackend:
    """One backend of a plan, with all that it takes to run it.

    Attributes:
        plan: The backend as the plan asks for it.
        model: The model that it runs.
        contribution: The plugin's descriptor; None if only another environment knows the backend.
        make_worker: Makes its runner in a worker process; None if it runs in this one.
    """

    plan: BackendPlan
    model: Model
    contribution: Contributed[RunnerSpec] | None
    make_worker: MakeWorker | None = None

    @property
    def label(self) -> str:
        """The label in reports."""
        return self.plan.label

    @property
    def needs(self) -> tuple[str, ...]:
        """Modules whose version tells which backend this is."""
        return self.contribution.spec.needs if self.contribution is not None else ()

    @property
    def runs_parts(self) -> bool | None:
        """Whether the backend runs parts of a model; None if only another environment knows."""
        return None if self.contribution is None else self.inside == "graph"

    @cached_property
    def inside(self) -> ModelGraph | str:
        """The view of inner tensors: "graph", "none", or the graph that the backend runs in place of the model."""
        if self.contribution is None:
            return "none"
        spec = self.contribution.spec
        if not spec.inside:
            return spec.intermediates
        found: ModelGraph | str = self.model.registry.load(self.contribution, spec.inside)(
            self.model, self.plan.options
        )
        return found if self.make_worker is None or isinstance(found, str) else "none"

    @property
    def compiles(self) -> bool:
        """Whether making one of its runners takes seconds or more."""
        return self.contribution is not None and self.contribution.spec.compiles

    @property
    def runs_beside_others(self) -> bool:
        """Whether its runners may work at the same time as those of other backends."""
        if self.contribution is None or self.make_worker is not None:
            return False
        spec = self.contribution.spec
        return spec.concurrent and not set(changed_options(self.plan.options)).intersection(spec.exclusive)

    def make_result(self) -> BackendResult:
        """Return an empty record of a run."""
        options = {**changed_options(self.plan.options), **self.plan.texts}
        result = BackendResult(
            label=self.label,
            backend=self.plan.backend,
            options={key: str(value) for key, value in options.items()},
            model=self.model.path,
        )
        if self.contribution is not None:
            result.precision = allowed_precision(dict(self.contribution.spec.narrows), self.plan.options)
        return result

    def make_run(self) -> BackendRun:
        """Return a run of the whole model, not active."""
        return BackendRun(self.make_result(), self.make_runner, self.needs)

    def make_runner(self, part: Loader[Any] | None = None, same_inputs: bool = True, *, runs: bool = True) -> Runner:
        """Return a runner, not active.

        Args:
            part: Makes what to run in place of the model; by default the model itself runs.
            same_inputs: Whether the part has the model's own inputs.
            runs: Whether it will run here, so that what it needs has to be installed.

        Raises:
            PluginError: The backend's plugin is broken, or lacks a module.
        """
        if self.make_worker is not None:
            return self.make_worker(self, part, same_inputs)
        assert self.contribution is not None
        model = self.model if part is None else self.model.part(part, same_inputs=same_inputs)
        if runs:
            model.registry.require(self.contribution)
        return model.registry.load(self.contribution)(model, self.plan.options, name=self.label)

    def with_option(self, name: str, value: Any) -> ResolvedBackend | None:
        """Return the same backend with one option changed; None if it has no such option."""
        options = self.plan.options
        if options is None or find_field(type(options), name) is None:
            return None
        return replace(self, plan=replace(self.plan, options=replace(options, **{name: value})))

    def switch_values(self, switch: Switch) -> tuple[Any, ...]:
        """Return the values of an option that switch something off.

        Raises:
            PluginError: The plugin is broken.
        """
        if not switch.values_from or self.contribution is None or self.make_worker is not None:
            return switch.values
        return tuple(self.model.registry.load(self.contribution, switch.values_from)(self.model, self.plan.options))


@dataclass(frozen=True)
class Resolved:
    """Backends, models and source of inputs that a plan names.

    Attributes:
        backends: The backends in the plan's order.
        models: The models by path.
        registry: The plugins.
        plan: The plan itself, for observers: options of the run, and its command line.
    """

    backends: tuple[ResolvedBackend, ...]
    models: Mapping[str, Model]
    registry: Registry
    _source: PlanSource
    plan: Plan

    @cached_property
    def descriptions(self) -> Mapping[str, ModelDescription | None]:
        """Inputs and outputs by model file; None where the loader cannot tell without loading weights.

        Raises:
            ModelError: A file cannot be read.
        """
        return {path: model.describe() for path, model in self.models.items()}

    @cached_property
    def source(self) -> DataSource:
        """The data source, which also knows the inputs that the models' files describe."""
        known = [item for item in self.descriptions.values() if item is not None]
        sizes = ShapeSearch(self.backends, self.registry)
        return self._source.informed(known, sizes, open_samples(self.backends, self.registry), self._silent)

    def _silent(self, outputs: Mapping[str, Any]) -> list[str]:
        """Return the outputs of which the plan's comparison would tell nothing, as far as its functions are known."""
        functions = {name: item for name, item in self.functions.by_name.items() if is_ours(item)}
        functions = functions or {DEFAULT_COMPARE: Simple(SimpleOptions())}
        return silent_outputs(outputs, functions, self.plan.compare.allow_blind)

    @property
    def data_loader(self) -> Contributed[DataLoaderSpec]:
        """The data loader of the plan, also where files or a script take its place."""
        return self._source.loader

    @cached_property
    def functions(self) -> PlannedFunctions:
        """The compare functions of the plan; errors as of `PlannedFunctions`."""
        return PlannedFunctions(self.plan.compare, self.registry)

    def backend(self, label: str) -> ResolvedBackend:
        """Return the backend with a label; one must have it."""
        return next(item for item in self.backends if item.label == label)


def open_samples(backends: Sequence[ResolvedBackend], registry: Registry) -> Reach | None:
    """Open the source of real inputs for outputs that drawn ones do not reach; None if no data loader has any."""
    found = [item for item in registry.data_loaders.values() if item.spec.steps_in]
    if not found:
        return None

    def reach(inputs: TensorMetadata, feed: Feed, iterations: int, silent: Silent) -> Reached | None:
        for item in found:
            make: MakeReach = registry.load(item, item.spec.steps_in)  # few runs come to that
            with OthersCode(PluginError, "cannot step in for random inputs", whose=item.label):
                reached = make(backends, registry)(inputs, feed, iterations, silent)
            if reached is not None:
                return reached
        return None

    return reach


class MakeReach(Protocol):
    """Factory that `DataLoaderSpec.steps_in` names."""

    def __call__(self, backends: Sequence[ResolvedBackend], registry: Registry, /) -> Reach:
        """Open the source of inputs for outputs that drawn ones do not reach."""


def resolve(plan: Plan, registry: Registry) -> Resolved:
    """Look up everything the plan names; activate nothing.

    Raises:
        UsageError: A backend has no model.
        ModelError: A model file is missing, unreadable, or of an unknown kind.
        PluginError: A backend or data loader asked for is unknown or broken.
        DataError: A data-loader script cannot be imported.
        FileError: A file of inputs cannot be read.
    """
    source = make_source(plan.data, registry)
    settings = ModelSettings(plan.loader_options, plan.data.input_shapes, source, plan.model_kind)
    contributions = [_contribution(backend, registry) for backend in plan.backends]
    models: dict[str, Model] = {}
    for backend in plan.backends:
        path = backend.model or plan.model
        if not path:
            raise UsageError("no model given", whose=f"-b {backend.label}", hint="polycmp run MODEL -b BACKEND")
        if path not in models:
            models[path] = Model(path, registry, settings)
    if plan.data.input_shapes or plan.data.dimensions:
        described = [model.describe() for model in models.values()]
        for model in models.values():  # what follows from dimensions of one name concerns builders of engines, too
            model.input_shapes = asked_shapes(plan.data, model.describe(), described)
    workers = _make_workers(plan, registry)
    backends = tuple(
        ResolvedBackend(backend, models[backend.model or plan.model], contribution, make_worker)
        for backend, contribution, make_worker in zip(plan.backends, contributions, workers, strict=True)
    )
    return Resolved(backends, models, registry, source, plan)


def _contribution(backend: BackendPlan, registry: Registry) -> Contributed[RunnerSpec] | None:
    if backend.python and backend.backend not in registry.runners:
        return None
    return registry.find_runner(backend.backend)


def _make_workers(plan: Plan, registry: Registry) -> Iterator[MakeWorker | None]:
    """Yield for each backend what makes its runners in another process; None for those of this one."""
    for backend in plan.backends:
        option = backend.elsewhere or ("--use-subprocess" if plan.subprocess else "")
        worker = open_workers(registry, plan.data, plan.timeout, option) if option else None
        yield _in_environment(worker, registry, option) if worker is not None and backend.version else worker


def _in_environment(make_worker: MakeWorker, registry: Registry, option: str) -> MakeWorker:
    """Wrap a maker of runners so that they run in an environment with the release that a backend asks for.

    The environment is looked for when the first of them is made, so that what fails there is the backend's failure.
    """
    environments = open_environments(registry, option)
    known: dict[str, str] = {}

    def make(backend: ResolvedBackend, part: Loader[Any] | None, same_inputs: bool) -> Runner:
        plan = backend.plan
        if plan.version not in known:
            known[plan.version] = environments(plan.backend, plan.version)
        there = replace(plan, python=known[plan.version], version="")
        return make_worker(replace(backend, plan=there), part, same_inputs)

    return make
