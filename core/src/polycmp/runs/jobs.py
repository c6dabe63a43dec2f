"""One backend with one model as plain values, for another process or machine, and the backend read from them there.

Either side may have other versions of everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from polycmp._inputs import PlanSource, asked_shapes
from polycmp.model import Model, ModelSettings
from polycmp.plan import BackendPlan, DataPlan, Plan, from_values, to_values
from polycmp.plugins import Registry
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.tensors import DataSource, Feed, TensorMetadata


@dataclass(frozen=True)
class Job:
    """One backend with one model.

    Attributes:
        label: Label of the backend in reports.
        backend: The backend's name.
        plan: As plain values, a plan of this backend alone, its model and the shapes asked for.
        part: Whether the file holds a part cut out of a model.
        inputs: As plain values, a plan of the inputs alone. The session's plugins make these; a worker that knows them
            reads this only for a backend that calibrates.
    """

    label: str
    backend: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    part: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the job as plain values."""
        return asdict(self)


def make_job(backend: BackendPlan, model: Model, data: DataPlan, part: str = "", *, same_inputs: bool = True) -> Job:
    """Make the job that tells a worker how to run one backend.

    Args:
        backend: The backend.
        model: The model that the backend runs.
        data: The source of inputs: backends may calibrate with them.
        part: The file with a part cut out of the model, which runs in its place.
        same_inputs: Whether what runs has the model's own inputs.

    Raises:
        PluginError: An option has a value that cannot be written down.
    """
    if not same_inputs:
        data = replace(data, input_shapes={}, further_shapes=(), dimensions={})
    asks = bool(data.input_shapes or data.dimensions)
    # The worker knows of one model: what was said by another's names is in its own already.
    shapes = model.input_shapes if asks else {}
    dimensions = data.dimensions if asks and model.describe() is None else {}
    alone = Plan(
        model=part or model.source,
        model_kind=model.settings.kind,
        loader_options={} if part else model.settings.loader_options,
        backends=(replace(backend, model="", python="", version=""),),
        data=DataPlan(input_shapes=shapes, dimensions=dimensions),
    )
    inputs = Plan(data=replace(data, followers={}))  # what goes on from outputs is where the outputs are
    written = to_values(inputs, model.registry)
    return Job(backend.label, backend.backend, to_values(alone, model.registry), bool(part), written)


def open_job(job: Mapping[str, Any], registry: Registry) -> ResolvedBackend:
    """Return the backend of a job with its model, which is the part where the job is of one.

    Args:
        job: As `Job.to_json` returned it.
        registry: The plugins of this process.

    Raises:
        PluginError: The backend's plugin is not there.
        UsageError: An option is unknown here.
    """
    plan = from_values(job["plan"], registry)
    [backend] = plan.backends
    contribution = registry.find_runner(backend.backend)
    source, data = _SessionsInputs(job["inputs"], registry), plan.data
    model = Model(plan.model, registry, ModelSettings(plan.loader_options, {}, source, plan.model_kind))
    if data.input_shapes or data.dimensions:
        model.input_shapes = asked_shapes(data, model.describe())
    resolved = ResolvedBackend(backend, model, contribution)
    if not job["part"]:
        return resolved
    model = resolved.model
    return replace(resolved, model=model.part(model.load(model.kind), same_inputs=bool(model.input_shapes)))


class _SessionsInputs(DataSource):
    """The inputs of the session, made here only if a backend asks for them, which one that calibrates does.

    What makes them may be a plugin that this environment need not have.

    Args:
        values: A plan of the inputs, as plain values.
        registry: The plugins.
    """

    def __init__(self, values: Mapping[str, Any], registry: Registry) -> None:
        self._values = values
        self._registry = registry

    @property
    def synthetic(self) -> bool:  # type: ignore[override]
        """Whether the numbers are made up."""
        return self._source.synthetic

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs."""
        return self._source(inputs)

    @cached_property
    def _source(self) -> DataSource:
        return PlanSource(from_values(self._values, self._registry).data, self._registry)
