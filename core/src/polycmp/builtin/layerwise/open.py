"""Opening of runs that go through models window by window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, NamedTuple

from polycmp.builtin.judging.samples import PerturbedRuns, perturbed_runs
from polycmp.builtin.judging.structure import final_outputs
from polycmp.builtin.layerwise.partitioned_run import PartitionedRun
from polycmp.builtin.layerwise.segment_runner import MakeRunner
from polycmp.builtin.layerwise.variants import Variants
from polycmp.builtin.layerwise.windows import Windows, can_run_side_by_side, comparable
from polycmp.errors import ModelError, OthersCode, PluginError, UsageError
from polycmp.graph import ModelGraph
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.options import changed_options, make_options
from polycmp.plan import BackendPlan
from polycmp.results import BackendResult
from polycmp.runner import Runner
from polycmp.runs import (
    MANY_OUTPUTS,
    BackendRun,
    Comparer,
    InputPairing,
    Resolved,
    ResolvedBackend,
    Tolerances,
    all_in_memory_note,
)

__all__ = ["Paired", "open_partitioned_runs", "open_precise_run", "open_windows"]

Graphs = Mapping[Model, "ModelGraph | None"]


def open_partitioned_runs(
    resolved: Resolved, partitioned_run: type[PartitionedRun] = PartitionedRun
) -> list[PartitionedRun]:
    """Return one run through the model's graph for each backend, in their order.

    Args:
        resolved: The backends.
        partitioned_run: The class to make for each backend.

    Raises:
        UsageError: A backend does not run parts of a model.
        ModelError: A model cannot be read, or its loader has no view of it as a graph.
        PluginError: A backend lacks a module.
    """
    for backend in resolved.backends:
        if backend.inside == "none" and backend.contribution is not None:
            raise UsageError(
                "cannot run parts of a model, so the tensors inside cannot be compared",
                whose=f"-b {backend.label}",
                hint="outputs can be compared: polycmp run MODEL -b …",
            )
        if backend.inside == "elsewhere":
            python = backend.plan.python if not backend.plan.is_remote else ""
            raise UsageError(
                f"shows its tensors to a polycmp in its own environment alone, not by {backend.plan.elsewhere}",
                whose=f"-b {backend.label}",
                hint=f"{python or 'python'} -m polycmp locate … there, where the other backend has to be, too",
            )
        if backend.contribution is not None and not backend.plan.elsewhere:
            resolved.registry.require(backend.contribution)
    graphs = _graphs(resolved.backends)
    for backend in resolved.backends:
        if isinstance(backend.inside, str) and graphs[backend.model] is None:
            raise ModelError(
                f"the loader of {backend.model.kind} models does not show their operators", whose=backend.model.path
            )
    results = [backend.make_result() for backend in resolved.backends]
    return _partitioned_runs(resolved.backends, results, graphs, partitioned_run)


def open_precise_run(resolved: Resolved, label: str, graph: ModelGraph) -> PartitionedRun | None:
    """Return a backend that calculates the reference's model in float64; None if none is installed."""
    reference = resolved.backend(label)
    model = reference.model
    if not isinstance(reference.inside, str):
        return _precise_own_run(reference, graph)
    for contribution, tools in resolved.registry.equipped(resolved.registry.runners.values()):
        spec = contribution.spec
        if tools.precise and tools.runs_parts and model.can_load(spec.accepts):
            options = make_options(spec.options, dict(tools.precise), spec.name)
            backend = ResolvedBackend(BackendPlan(f"{spec.name} in float64", spec.name, options), model, contribution)
            return PartitionedRun(BackendResult(backend.label, spec.name), graph, backend.make_runner, spec.needs)
    return None


def _precise_own_run(backend: ResolvedBackend, graph: ModelGraph) -> PartitionedRun | None:
    """Return a backend with a graph of its own, calculating in float64; None if it cannot."""
    spec = backend.contribution.spec if backend.contribution is not None else None
    if spec is None or not backend.tools.precise:
        return None
    precise: ResolvedBackend | None = backend
    for name, value in backend.tools.precise:
        precise = precise.with_option(name, value) if precise is not None else None
    if precise is None:
        return None
    return PartitionedRun(
        BackendResult(f"{spec.name} in float64", spec.name), graph, _maker(precise, graph), spec.needs
    )


def _maker(backend: ResolvedBackend, backend_graph: ModelGraph) -> MakeRunner:
    """Return the maker of runners for a backend that has a graph of its own."""

    def make(loader: Loader[Any] | None, same_inputs: bool) -> Runner:
        return backend.make_runner(backend_graph.mark(backend_graph.outputs) if loader is None else loader, same_inputs)

    return make


class GivenNames(NamedTuple):
    """Pairs of tensors that the user declared to be the same in models that differ.

    Attributes:
        inputs: Names of one input in two models, whichever way round.
        outputs: Names in the candidate's model -> names in the reference's.
        ends: Names of the outputs of all files, which belong together whatever options make outputs beside them.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    ends: frozenset[str] = frozenset()


class Paired(NamedTuple):
    """Runs of models that differ, made to go through them side by side.

    Attributes:
        partitioned_runs: The same runs in the same order; their graphs have the same operators between tensors of
            the same names.
        notes: Remarks for the reader on how the tensors were paired.
        comparer_wrapper: Makes of a comparer one that knows how the tensors of these models are called.
        rounding: Makes of what judges the models' outputs by measured rounding what judges the tensors inside, too.
        to_reference: Names in the reference's model of paired tensors, by their common names.
    """

    partitioned_runs: list[PartitionedRun]
    notes: list[str]
    comparer_wrapper: Callable[[Comparer], Comparer]
    rounding: Callable[[Tolerances], Tolerances] = lambda tolerances: tolerances
    to_reference: Mapping[str, str] = MappingProxyType({})


def open_windows(
    resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str]
) -> Windows | None:
    """Open windows over the models; None where they cannot be run side by side.

    Models that differ are gone through where the tensors inside them were asked for, which have counterparts of other
    names and types. Their own outputs have the same names, and are compared as those of any two backends are.
    Arguments as for `polycmp.runs.open_windows`.

    Raises:
        ModelError: A model cannot be read.
    """
    backends = resolved.backends
    inside = [bool(backend.runs_parts) for backend in backends]
    graphs = _graphs(backends)
    if not any(graph is not None and _is_worth_it(graph) for graph in graphs.values()):
        return None
    if not any(inside) or any(graphs[item.model] is None for item in compress(backends, inside)):
        return None
    partitioned = _partitioned_runs(
        list(compress(backends, inside)), [run.result for run in compress(runs, inside)], graphs
    )
    paired: Paired | None = Paired(partitioned, [], lambda comparer: comparer)
    if not can_run_side_by_side([graphs[item.model] for item in compress(backends, inside)]):
        # By names of their own and by the tolerances alone, as `compare` judges what both save, however many there are.
        paired = _paired(resolved, partitioned, reference) if all(inside) and _are_marked(backends) else None
    elif resolved.map_output:  # tensors of two names may be made in two windows
        notes.append(all_in_memory_note("--map-output"))
        return None
    elif len({id(graph) for graph in graphs.values()}) > 1 and all(inside) and _are_marked(backends):
        paired = _paired(resolved, partitioned, reference) or paired
    if paired is None:
        return None
    partitioned = paired.partitioned_runs
    wanted = comparable(partitioned[-1].graph)
    if any(set(run.graph.outputs) != set(wanted) for run in partitioned):
        return None
    notes += paired.notes
    whole = [
        _whole_run(backend, run, graphs[backend.model])
        for backend, run, shows in zip(backends, runs, inside, strict=True)
        if not shows
    ]
    concurrent = all(backend.runs_beside_others for backend in compress(backends, inside))
    pairing = InputPairing.of(resolved, reference)
    return Windows(
        partitioned,
        wanted,
        max_memory,
        whole,
        concurrent=concurrent,
        comparer_wrapper=paired.comparer_wrapper,
        rounding=paired.rounding,
        pairing=pairing,
        to_reference=paired.to_reference,
    )


def _is_worth_it(graph: ModelGraph) -> bool:
    """Return whether a graph has many outputs, or all its tensors are outputs."""
    return len(graph.outputs) >= MANY_OUTPUTS or len(final_outputs(graph)) < len(graph.outputs)


def _are_marked(backends: Iterable[ResolvedBackend]) -> bool:
    """Return whether models are loaded with options, which may make tensors inside them outputs."""
    settings = (item.model.settings.loader_options.values() for item in backends if item.runs_parts)
    return any(changed_options(options) for loaders in settings for options in loaders)


def _paired(resolved: Resolved, partitioned_runs: list[PartitionedRun], reference: str) -> Paired | None:
    """Pair runs whose models differ, with the first pairing that can; None if no pairing can, or none is installed."""
    plan, registry = resolved.plan, resolved.registry
    files = [backend.model.describe_file() for backend in resolved.backends]
    ends = [frozenset(file.outputs) for file in files if file is not None]
    ends = [frozenset.intersection(*ends)] if len(ends) == len(files) else []
    given = GivenNames(plan.data.map_input, resolved.map_output, *ends)

    def perturbed(run: PartitionedRun) -> PerturbedRuns | None:
        return perturbed_runs(resolved, run.label, run.graph)

    for item in registry.pairings.values():
        pair = registry.load(item)
        with OthersCode(PluginError, "cannot pair the tensors of these models", whose=item.label):
            paired: Paired | None = pair(partitioned_runs, reference, given, plan.command, perturbed)
        if paired is not None:
            return paired
    return None


def _graphs(backends: Iterable[ResolvedBackend]) -> Graphs:
    return {item.model: item.model.graph() for item in backends}


def _partitioned_runs(
    backends: Sequence[ResolvedBackend],
    results: Sequence[BackendResult],
    graphs: Graphs,
    partitioned_run: type[PartitionedRun] = PartitionedRun,
) -> list[PartitionedRun]:
    runs = []
    for backend, result in zip(backends, results, strict=True):
        view = backend.inside
        graph = graphs.get(backend.model) if isinstance(view, str) else view
        if graph is not None:
            runs.append(_partitioned_run(backend, result, graph, partitioned_run))
    return runs


def _partitioned_run(
    backend: ResolvedBackend, result: BackendResult, graph: ModelGraph, kind: type[PartitionedRun]
) -> PartitionedRun:
    """Return a run of a backend through a graph: of its model's file, or of its own."""

    def again(other: ResolvedBackend) -> PartitionedRun:
        return _partitioned_run(other, other.make_result(), graph, kind)

    make = backend.make_runner if isinstance(backend.inside, str) else _maker(backend, graph)
    join = backend.model.joiner() if backend.compiles else None
    variants = Variants(backend, graph, again)
    return kind(result, graph, make, backend.needs, compiles=backend.compiles, join=join, variants=variants)


def _whole_run(backend: ResolvedBackend, run: BackendRun, graph: ModelGraph | None) -> BackendRun:
    """Return a run of the whole model with its own outputs, for a backend that shows no tensors inside it."""
    run.result.notes.append("shows no tensors inside the model, so only the model's outputs are compared")
    if graph is None:
        return run
    loader = graph.mark(final_outputs(graph))
    return BackendRun(run.result, lambda: backend.make_runner(loader), backend.needs)
