"""What a worker is told to run: plain values, since the other environment may hold other versions of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.options import changed_options, find_field, instance_texts, make_options, option_fields
from polycmp.plan import BackendPlan, Choice, DataPlan, Plan
from polycmp.plugins import Registry


@dataclass(frozen=True)
class Job:
    """One backend with one model.

    Attributes:
        label: Its name in reports.
        backend: The backend's name.
        model: The model file.
        model_kind: The model's kind, where its suffix does not tell.
        values: Option values that differ from the defaults.
        texts: Options as typed, for a backend that only the worker's environment has.
        loader_options: Changed option values by loader.
        input_shapes: Shapes asked for.
        data: The data loader, for backends that calibrate: `{"name", "values", "script", "files"}`.
        part: Whether the file holds a part cut out of a model.
    """

    label: str
    backend: str
    model: str
    model_kind: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    loader_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    part: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the job as plain values."""
        return asdict(self)


def make_job(plan: Plan, backend: BackendPlan) -> Job:
    """Return what a worker has to know of a plan."""
    return Job(
        label=backend.label,
        backend=backend.backend,
        model=backend.model or plan.model,
        model_kind=plan.model_kind,
        values=changed_options(backend.options),
        texts=dict(backend.texts),
        loader_options={name: changed_options(options) for name, options in plan.loader_options.items()},
        input_shapes=dict(plan.data.input_shapes),
        data={
            "name": plan.data.loader.name,
            "values": changed_options(plan.data.loader.options),
            "script": plan.data.script,
            "files": list(plan.data.files),
        },
    )


def data_plan(job: Mapping[str, Any], registry: Registry) -> DataPlan:
    """Return the job's data plan.

    Raises:
        PluginError: The data loader is not in this environment.
    """
    data = job["data"]
    spec = registry.find_data_loader(data["name"]).spec
    options = restore(spec.options, data["values"], data["name"])
    shapes = {name: tuple(shape) for name, shape in job["input_shapes"].items()}
    return DataPlan(Choice(data["name"], options), data["script"], tuple(data["files"]), shapes)


def restore(options: type | None, values: Mapping[str, Any], owner: str) -> Any:
    """Return an options instance from values that went through JSON.

    Raises:
        UsageError: This version of the plugin has no such option.
    """
    known = [item.name for item in option_fields(options)]
    for name in values:
        if name not in known:
            raise UsageError(f"{owner} has no option {name!r} in this environment", why=did_you_mean(name, known))
    return make_options(options, {name: _tuples(value) for name, value in values.items()}, owner)


def from_texts(options: type | None, texts: Mapping[str, str], owner: str) -> dict[str, Any]:
    """Return option values from the texts of an instance.

    Raises:
        UsageError: There is no such option, or a text cannot be its value.
    """
    values = {}
    for key, text in texts.items():
        found = find_field(options, key)
        if found is None:
            known = [item.name for item in option_fields(options)]
            raise UsageError(f"the backend {owner!r} has no option {key!r}", why=did_you_mean(key, known))
        values[found.name] = found.convert(instance_texts(text))
    return values


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value
