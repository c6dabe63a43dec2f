"""From resolved backends to runs that are ready to start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from polycmp.errors import UsageError
from polycmp.options import changed_options
from polycmp.plan import ComparePlan, DataPlan, Plan, to_command
from polycmp.runs.backend_run import BackendRun
from polycmp.runs.feedback import Feedback
from polycmp.runs.pairing import InputPairing
from polycmp.runs.resolution import Resolved
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.runs.tolerances import is_measured
from polycmp.runs.windows import MANY_OUTPUTS, Windows, all_in_memory_note, open_windows
from polycmp.session.names import check_names
from polycmp.tensors import DataSource

#: Names that a message shows.
_SHOWN = 3


@dataclass(frozen=True)
class Prepared:
    """Backends, inputs and options that a session starts with.

    Attributes:
        runs: The backends in the plan's order, none active yet.
        source: The data source.
        names_checked: Whether the outputs named in the plan have been checked against the model.
        pairing: Pairs of inputs that are the same under different names.
        windows: Runs the models part by part, where all outputs may not fit into memory; else None.
        notes: Remarks for the reader on how the plan is run.
        feedback: Makes further inputs of the outputs; None if inputs come from the source alone.
    """

    runs: list[BackendRun]
    source: DataSource
    names_checked: bool
    pairing: InputPairing
    windows: Windows | None = None
    notes: list[str] = field(default_factory=list)
    feedback: Feedback | None = None


@dataclass(frozen=True)
class MemoryLimit:
    """Memory that the tensors of a run may take.

    Attributes:
        most: Bytes that the process may take beside the weights, 0 for a share of what is free.
        all_for: The option that needs all outputs of an iteration at once; empty if none was given. The tolerances
            that `--tolerance` names need them, too, but where files differ.
    """

    most: int
    all_for: str


def prepare(
    data: DataPlan, compare: ComparePlan, resolved: Resolved, feedback: Feedback | None, memory: MemoryLimit
) -> Prepared:
    """Choose how backends run; activate nothing.

    Args:
        data: The part of the plan on input data, for the names in it.
        compare: The part of the plan on comparing, likewise.
        resolved: The backends.
        feedback: Makes further inputs of the outputs; None if inputs come from the source alone.
        memory: Memory that tensors may take.

    Raises:
        UsageError: A tensor named in the plan is not in the model.
        ModelError: A model file cannot be read.
    """
    checked = check_names(data, compare, resolved)
    runs = [backend.make_run() for backend in resolved.backends]
    pairing = InputPairing.of(resolved, compare.reference)
    if feedback is not None:
        return Prepared(feedback.join(runs), feedback.source(resolved.source), checked, pairing, feedback=feedback)
    if len(runs) < 2 or any(backend.make_worker and backend.plan.elsewhere for backend in resolved.backends):
        return Prepared(runs, resolved.source, checked, pairing)
    if not has_many_outputs(resolved.backends) and not may_need_pairs(resolved.backends):
        return Prepared(runs, resolved.source, checked, pairing)
    tolerance = f"--tolerance {compare.tolerance}" if compare.tolerance and not is_measured(compare) else ""
    windows, notes = None, list[str]()
    if not memory.all_for and (not tolerance or may_need_pairs(resolved.backends)):
        windows = open_windows(resolved, runs, memory.most, compare.reference, notes)
    if windows is None and compare.tolerance:
        _check_names_in_common(resolved, memory.all_for)
    if memory.all_for or tolerance:
        notes.append(all_in_memory_note(memory.all_for or tolerance))
    return Prepared(runs, resolved.source, checked, pairing, windows, notes)


def has_many_outputs(backends: Iterable[ResolvedBackend]) -> bool:
    """Return whether every model of backends that run parts has so many outputs that they may not fit the memory."""
    counts = []
    for model in {item.model.path: item.model for item in backends if item.runs_parts}.values():
        description = model.describe()
        counts.append(0 if description is None else len(description.outputs))
    return bool(counts) and min(counts) >= MANY_OUTPUTS


def may_need_pairs(backends: Iterable[ResolvedBackend]) -> bool:
    """Return whether files that differ are loaded with options, which may make tensors inside them outputs.

    Such tensors have counterparts of other names and types in the other file, however few there are.
    """
    models = {item.model.path: item.model for item in backends if item.runs_parts}
    settings = [options for model in models.values() for options in model.settings.loader_options.values()]
    return len(models) > 1 and any(changed_options(options) for options in settings)


def _check_names_in_common(resolved: Resolved, option: str) -> None:
    """Check that tensors inside models that differ, which were made outputs, can be judged by name.

    Args:
        resolved: The backends.
        option: The option for which they are not paired; empty if they cannot be.

    Raises:
        UsageError: They have other names.
    """
    plan = resolved.plan
    described = [item for item in resolved.descriptions.values() if item is not None]
    if not may_need_pairs(resolved.backends) or len(described) < 2:
        return
    names = [{plan.compare.map_output.get(name, name) for name in item.outputs} for item in described]
    alone = sorted(names[0].union(*names[1:]) - names[0].intersection(*names[1:]))
    if alone:
        others = replace(plan, compare=replace(plan.compare, tolerance=""))
        shown = f"{', '.join(map(repr, alone[:_SHOWN]))}{', …' if len(alone) > _SHOWN else ''}"
        needs = f"with {option} tensors are not paired" if option else "no tensors of these files could be paired"
        raise UsageError(
            f"--tolerance {plan.compare.tolerance} cannot judge the tensors inside models that differ: it measures "
            "outputs by name",
            why=f"{needs}, and {len(alone)} have a name that one model alone has: {shown}",
            hint=f"leave {option} out" if option else to_command(others, resolved.registry),
        )


def needs_all_outputs(plan: Plan) -> str:
    """Return the first option given that never lets models be run part by part; empty if none was."""
    reasons = {
        "--sequential-runners": plan.sequential,
        "--warm-up": plan.warm_up,
        "--use-subprocess": plan.subprocess,
        "--load-outputs": plan.files.load_outputs,
    }
    return next((option for option, value in reasons.items() if value), "")
