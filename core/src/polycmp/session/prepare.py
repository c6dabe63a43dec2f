"""From a plan to runs that are ready to start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError
from polycmp.graph import ModelGraph, final_outputs
from polycmp.inputs import make_source, with_ranges
from polycmp.layerwise.partitioned_run import Lane
from polycmp.layerwise.windows import MANY_OUTPUTS, Windows, comparable, suits
from polycmp.loader import Loader
from polycmp.model import Model, ModelSettings
from polycmp.options import changed_options, make_options
from polycmp.plan import BackendPlan, Plan
from polycmp.precision import allowed_precision
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import LiveRun
from polycmp.session.check_names import check_input_names, check_output_names
from polycmp.tensors import ModelDescription
from polycmp.workers.job import make_job
from polycmp.workers.part_runner import PartWorkerRunner
from polycmp.workers.runner import WorkerRunner

if TYPE_CHECKING:
    from polycmp.plugins import Contribution, Registry
    from polycmp.runs.loop import Source


@dataclass(frozen=True)
class Prepared:
    """What a session starts with.

    Attributes:
        runs: The backends in the plan's order, none active yet.
        source: The data source.
        names_checked: Whether the outputs named in the plan have been checked against the model.
        windows: How to go through the model part by part, where its outputs may be too many for the memory.
    """

    runs: list[LiveRun]
    source: Source
    names_checked: bool
    windows: Windows | None = None


def prepare(plan: Plan, registry: Registry) -> Prepared:
    """Look up everything the plan names; activate nothing.

    Raises:
        UsageError: A tensor named in the plan is not in the model, or a backend has no model.
        ModelError: A model file is missing, unreadable, or of an unknown kind.
        PluginError: A backend asked for is unknown or broken.
    """
    source = make_source(plan.data, registry)
    parts = _parts(plan, registry, source)
    descriptions = _describe(parts)
    checked = _check_names(plan, descriptions)
    runs = [_live_run(plan, *part) for part in parts]
    return Prepared(runs, with_ranges(source, filter(None, descriptions)), checked, _windows(plan, parts, runs))


def open_lanes(plan: Plan, registry: Registry) -> tuple[list[Lane], Source]:
    """Return the plan's backends as lanes through their models' graphs, and the data source.

    Raises:
        UsageError: A backend does not let the core look inside.
        ModelError: A model cannot be read, or its loader has no view of it as a graph.
        PluginError: A backend asked for is unknown or broken.
    """
    source = make_source(plan.data, registry)
    parts = _parts(plan, registry, source)
    for backend, contribution, model in parts:
        if contribution is None:  # only the other environment knows it, and whether it can do what is asked
            continue
        if contribution.spec.intermediates != "graph":
            raise UsageError("cannot run parts of a model, so it has nothing to locate in", whose=f"-b {backend.label}")
        if not backend.python:
            model.registry.require(contribution)
    graphs: dict[str, ModelGraph | None] = {}
    for _, _, model in parts:
        if model.path not in graphs:
            graphs[model.path] = model.graph()
        if graphs[model.path] is None:
            raise ModelError(f"the loader of {model.kind} models gives no view of their operators", whose=model.path)
    return _lanes(plan, parts, [_live_run(plan, *part).result for part in parts], graphs), with_ranges(
        source, filter(None, _describe(parts))
    )


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


def _describe(parts: Iterable[_Part]) -> list[ModelDescription | None]:
    return [model.describe() for model in {model.path: model for _, _, model in parts}.values()]


def _check_names(plan: Plan, descriptions: Sequence[ModelDescription | None]) -> bool:
    """Check the plan's names against the models that can be described; return whether that was possible."""
    known = [description for description in descriptions if description is not None]
    if not known or len(known) < len(descriptions):
        return False
    check_input_names(plan, dict.fromkeys(name for item in known for name in item.inputs))
    check_output_names(plan, dict.fromkeys(name for item in known for name in item.outputs))
    return True


def model_of(plan: Plan, registry: Registry, label: str) -> Model:
    """Return the model of one of the plan's backends."""
    return next(
        model
        for backend, _, model in _parts(plan, registry, make_source(plan.data, registry))
        if backend.label == label
    )


def open_precise_lane(plan: Plan, registry: Registry, graph: ModelGraph) -> Lane | None:
    """Return a backend that calculates the reference's model in float64; None if none is installed.

    Args:
        plan: The plan, whose last backend is the reference.
        registry: The plugins.
        graph: The reference's model.
    """
    source = make_source(plan.data, registry)
    _, _, model = _parts(plan, registry, source)[-1]
    for contribution in registry.runners.values():
        spec = contribution.spec
        if spec.precise and spec.intermediates == "graph" and model.can_load(spec.accepts):
            options = make_options(spec.options, dict(spec.precise), spec.name)
            backend = BackendPlan(f"{spec.name} in float64", spec.name, options)
            make = partial(_make_part_runner, plan, backend, contribution, model)
            return Lane(BackendResult(backend.label, spec.name), graph, make, spec.needs)
    return None


def _windows(plan: Plan, parts: list[_Part], runs: list[LiveRun]) -> Windows | None:
    """Return the way through the model in windows; None where all outputs are had at once, or have to be."""
    at_once = (
        plan.sequential, plan.warm_up, plan.subprocess, plan.files.save_outputs, plan.files.load_outputs,
        plan.files.save_metrics, plan.compare.map_output, plan.compare.postprocess, plan.compare.postprocess_script,
        plan.compare.check_average,
    )  # fmt: skip
    if len(parts) < 2 or any(at_once):
        return None
    if any(backend.python or contribution is None for backend, contribution, _ in parts):
        return None
    inside = [_shows_tensors(part) for part in parts]
    for _, _, model in compress(parts, inside):
        description = model.describe()
        if description is None or len(description.outputs) < MANY_OUTPUTS:
            return None
    graphs = {path: model.graph() for path, model in {model.path: model for _, _, model in parts}.items()}
    if not any(inside) or not suits([graphs[model.path] for _, _, model in compress(parts, inside)]):
        return None
    lanes = _lanes(plan, list(compress(parts, inside)), [run.result for run in compress(runs, inside)], graphs)
    wanted = comparable(lanes[-1].graph)
    if any(set(lane.graph.outputs) != set(wanted) for lane in lanes):
        return None
    shut = [not shows for shows in inside]
    closed = [
        _closed_run(plan, part, run, graphs)
        for part, run in zip(compress(parts, shut), compress(runs, shut), strict=True)
    ]
    return Windows(lanes, wanted, plan.max_memory, closed)


def _shows_tensors(part: _Part) -> bool:
    contribution = part[1]
    return contribution is not None and contribution.spec.intermediates == "graph"


def _closed_run(plan: Plan, part: _Part, run: LiveRun, graphs: Mapping[str, ModelGraph | None]) -> LiveRun:
    """Return a run of the whole model with its own outputs, for a backend that shows no tensors inside it."""
    backend, contribution, model = part
    run.result.notes.append("shows no tensors inside the model, so only the model's outputs are compared")
    graph = graphs[model.path]
    if graph is None or contribution is None:
        return run
    loader = graph.mark(final_outputs(graph))
    make = partial(_make_part_runner, plan, backend, contribution, model, loader, True)
    return LiveRun(run.result, make, contribution.spec.needs)


def _lanes(
    plan: Plan, parts: list[_Part], results: list[BackendResult], graphs: Mapping[str, ModelGraph | None]
) -> list[Lane]:
    lanes = []
    for part, result in zip(parts, results, strict=True):
        backend, contribution, model = part
        graph = graphs[model.path]
        if graph is not None:
            make = partial(_make_part_runner, plan, backend, contribution, model)
            lanes.append(Lane(result, graph, make, contribution.spec.needs if contribution is not None else ()))
    return lanes


def _make_part_runner(
    plan: Plan,
    backend: BackendPlan,
    contribution: Contribution | None,
    model: Model,
    loader: Loader[Any] | None,
    same_inputs: bool,
) -> Runner:
    if loader is None:
        return _make_runner(plan, backend, contribution, model)
    if contribution is None or plan.subprocess or backend.python:
        return PartWorkerRunner(plan, backend, model, loader, same_inputs)
    return _make_runner(plan, backend, contribution, model.part(loader, same_inputs=same_inputs))


def _live_run(plan: Plan, backend: BackendPlan, contribution: Contribution | None, model: Model) -> LiveRun:
    result = BackendResult(
        label=backend.label,
        backend=backend.backend,
        options={key: str(value) for key, value in {**changed_options(backend.options), **backend.texts}.items()},
        model=model.path,
    )
    if contribution is not None:
        result.precision = allowed_precision(dict(contribution.spec.narrows), backend.options)
    needs = contribution.spec.needs if contribution is not None else ()
    return LiveRun(result, lambda: _make_runner(plan, backend, contribution, model), needs)


def _make_runner(plan: Plan, backend: BackendPlan, contribution: Contribution | None, model: Model) -> Runner:
    if contribution is None or plan.subprocess or backend.python:
        return WorkerRunner(make_job(plan, backend, model.registry), backend.python, plan.timeout)
    model.registry.require(contribution)
    runner: Runner = model.registry.load(contribution)(model, backend.options, name=backend.label)
    return runner
