"""From a plan to runs that are ready to start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.errors import UsageError
from polycmp.model import Model, ModelSettings
from polycmp.options import changed_options
from polycmp.plan import BackendPlan, Plan
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.session.live import LiveRun
from polycmp.session.names import check_input_names, check_output_names
from polycmp.session.sources import make_source
from polycmp.session.workers.host import WorkerRunner
from polycmp.session.workers.job import make_job

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry
    from polycmp.session.stream import Source


@dataclass(frozen=True)
class Prepared:
    """What a session starts with.

    Attributes:
        runs: The backends in the plan's order, none active yet.
        source: The data source.
        names_checked: Whether the outputs named in the plan have been checked against the model.
    """

    runs: list[LiveRun]
    source: Source
    names_checked: bool


def prepare(plan: Plan, registry: Registry) -> Prepared:
    """Look up everything the plan names; activate nothing.

    Raises:
        UsageError: A tensor named in the plan is not in the model, or a backend has no model.
        ModelError: A model file is missing, unreadable, or of an unknown kind.
        PluginError: A backend asked for is unknown or broken.
    """
    source = make_source(plan.data, registry)
    parts = _parts(plan, registry, source)
    checked = _check_names(plan, list({model.path: model for _, _, model in parts}.values()))
    return Prepared([_live_run(plan, *part) for part in parts], source, checked)


def make_runners(plan: Plan, registry: Registry) -> list[Runner]:
    """Return the plan's runners, none active; errors as in `prepare`, and those of the factories."""
    source = make_source(plan.data, registry)
    return [_make_runner(plan, *part) for part in _parts(plan, registry, source)]


_Part = tuple[BackendPlan, "Contribution | None", Model]


def _parts(plan: Plan, registry: Registry, source: Source) -> list[_Part]:
    """Return each backend with who brings it (None: only another environment knows) and its model."""
    settings = ModelSettings(plan.loader_options, plan.data.input_shapes, source, plan.model_kind)
    contributions = [
        None if backend.python and backend.backend not in registry.runners else registry.find_runner(backend.backend)
        for backend in plan.backends
    ]
    models: dict[str, Model] = {}
    for backend in plan.backends:
        path = backend.model or plan.model
        if not path:
            raise UsageError("no model given", whose=f"-b {backend.label}", hint="polycmp run MODEL -b BACKEND")
        if path not in models:
            models[path] = Model(path, registry, settings)
    return [
        (backend, contribution, models[backend.model or plan.model])
        for backend, contribution in zip(plan.backends, contributions, strict=True)
    ]


def _check_names(plan: Plan, models: list[Model]) -> bool:
    """Check the plan's names against the models that can be described; return whether that was possible."""
    descriptions = [model.describe() for model in models]
    known = [description for description in descriptions if description is not None]
    if not known or len(known) < len(descriptions):
        return False
    check_input_names(plan, dict.fromkeys(name for item in known for name in item.inputs))
    check_output_names(plan, dict.fromkeys(name for item in known for name in item.outputs))
    return True


def _live_run(plan: Plan, backend: BackendPlan, contribution: Contribution | None, model: Model) -> LiveRun:
    result = BackendResult(
        label=backend.label,
        backend=backend.backend,
        options={key: str(value) for key, value in {**changed_options(backend.options), **backend.texts}.items()},
        model=model.path,
    )
    needs = contribution.spec.needs if contribution is not None else ()
    return LiveRun(result, lambda: _make_runner(plan, backend, contribution, model), needs)


def _make_runner(plan: Plan, backend: BackendPlan, contribution: Contribution | None, model: Model) -> Runner:
    if contribution is None or plan.subprocess or backend.python:
        return WorkerRunner(make_job(plan, backend), backend.python, plan.timeout)
    model.registry.require(contribution)
    runner: Runner = model.registry.load(contribution)(model, backend.options, name=backend.label)
    return runner
