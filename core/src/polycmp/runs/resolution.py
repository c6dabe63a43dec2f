"""Everything that a plan names, looked up once: backends, their models, the source of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from polycmp._builtin_options import SimpleOptions
from polycmp._inputs import PlanSource, SampleFeeds, SampleFinder, Silent, asked_shapes
from polycmp.compare.blindness import silent_outputs
from polycmp.compare.impostors import is_ours
from polycmp.compare.simple import Simple
from polycmp.errors import OthersCode, PluginError, UsageError
from polycmp.model import Model, ModelSettings
from polycmp.plan import BackendPlan, Plan
from polycmp.plan.defaults import DEFAULT_COMPARE
from polycmp.runs.compare_functions import PlannedFunctions
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.runs.sizes import ShapeSearch
from polycmp.runs.workers import make_workers
from polycmp.tensors import DataSource, Feed, ModelDescription, TensorMetadata

if TYPE_CHECKING:
    from polycmp.plugins import Contributed, Registry
    from polycmp.runs.networks import CompareNetworks
    from polycmp.spec import DataLoaderSpec, RunnerSpec


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
    #: Copies with another plan share it, so that no two files are compared twice.
    _open_networks: Callable[[], CompareNetworks | None]

    @cached_property
    def descriptions(self) -> Mapping[str, ModelDescription | None]:
        """Inputs and outputs by model file; None where the loader cannot tell without loading weights.

        Raises:
            ModelError: A file cannot be read.
        """
        return {path: model.describe() for path, model in self.models.items()}

    @cached_property
    def map_output(self) -> Mapping[str, str]:
        """Candidate's output name to reference's, but for sequences and maps that the loader's options leave out.

        What these are made of is compared by its own name.

        Raises:
            ModelError: A file cannot be read.
        """
        mapping = self.plan.compare.map_output
        absent: set[str] = set()
        for model in self.models.values() if mapping else ():
            file, loaded = model.describe_file(), model.describe()
            if file is not None and loaded is not None:
                untyped = {name for name, entry in file.outputs.items() if entry.dtype is None}
                absent |= untyped - loaded.outputs.keys()
        return {name: other for name, other in mapping.items() if name not in absent}

    @cached_property
    def source(self) -> DataSource:
        """The data source, which also knows the inputs that the models' files describe."""
        descriptions = [item for item in self.descriptions.values() if item is not None]
        sizes = ShapeSearch(self.backends, self.registry)
        return self._source.with_descriptions(
            descriptions, sizes, open_sample_finder(self.backends, self.registry), self._silent
        )

    def _silent(self, outputs: Mapping[str, Any]) -> list[str]:
        """Return the outputs of which the plan's comparison would tell nothing, as far as its functions are known."""
        functions = {name: item for name, item in self.functions.by_name.items() if is_ours(item)}
        functions = functions or {DEFAULT_COMPARE: Simple(SimpleOptions())}
        return silent_outputs(outputs, functions, self.plan.compare.allow_blind)

    @property
    def compare_networks(self) -> CompareNetworks | None:
        """Compares what the files of two models hold, each pair once; None where nothing that is installed does."""
        return self._open_networks()

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


def open_sample_finder(backends: Sequence[ResolvedBackend], registry: Registry) -> SampleFinder:
    """Open the source of real inputs for outputs that drawn ones do not reach."""

    def reach(inputs: TensorMetadata, feed: Feed, iterations: int, silent: Silent) -> SampleFeeds | None:
        for item, tools in registry.equipped(registry.data_loaders.values()):  # few runs come to that
            if tools.steps_in is None:
                continue
            make: MakeSampleFinder = tools.steps_in
            with OthersCode(PluginError, "cannot step in for random inputs", whose=item.label):
                reached = make(backends, registry)(inputs, feed, iterations, silent)
            if reached is not None:
                return reached
        return None

    return reach


class MakeSampleFinder(Protocol):
    """Factory that `DataLoaderTools.steps_in` names."""

    def __call__(self, backends: Sequence[ResolvedBackend], registry: Registry, /) -> SampleFinder:
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
    source = PlanSource(plan.data, registry)
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
    workers = make_workers(plan, registry)
    backends = tuple(
        ResolvedBackend(backend, models[backend.model or plan.model], contribution, make_worker)
        for backend, contribution, make_worker in zip(plan.backends, contributions, workers, strict=True)
    )
    for item in backends:
        if item.recorded_inputs is not None:
            source.take(item.recorded_inputs, item.label)
    return Resolved(backends, models, registry, source, plan, cache(partial(_comparing_once, registry)))


def _comparing_once(registry: Registry) -> CompareNetworks | None:
    from polycmp.runs.networks import open_networks

    compare = open_networks(registry)
    return None if compare is None else cast("CompareNetworks", cache(compare))


def _contribution(backend: BackendPlan, registry: Registry) -> Contributed[RunnerSpec] | None:
    if backend.python and backend.backend not in registry.runners:
        return None
    return registry.find_runner(backend.backend)
