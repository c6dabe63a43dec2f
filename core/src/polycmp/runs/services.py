"""What runs leave to plugins: how such a service is asked for, what it gives, and what a run does without it.

Those of `sizes` and `samples` are in `polycmp.runs.resolve`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import PolycmpError

if TYPE_CHECKING:
    from polycmp.compare.verdicts import OutputComparison
    from polycmp.plan import ComparePlan, DataPlan, Plan
    from polycmp.plugins import Registry
    from polycmp.results.outcome import BackendResult, Invalid, Outcome
    from polycmp.results.runs import IterationResult
    from polycmp.runs.backend_run import BackendRun
    from polycmp.runs.loop import Pace, Step
    from polycmp.runs.resolve import MakeWorker, Resolved
    from polycmp.spec import CompareFunction
    from polycmp.tensors import Feed, Source


class Averages(Protocol):
    """Judges the means of a run's metrics over the iterations."""

    def of(self, functions: Mapping[str, CompareFunction], /) -> Callable[[Any], Any]:
        """Return what makes of a comparer of single iterations one that judges the means.

        Raises:
            UsageError: A function, called by its name, cannot judge them.
        """


class FollowUps(Protocol):
    """Knows what to type after a run in which something failed."""

    def take(
        self,
        iteration: int,
        feed: Feed,
        backends: Iterable[BackendResult],
        invalid: Iterable[Invalid],
        compared: Mapping[str, Sequence[OutputComparison]],
        /,
    ) -> None:
        """Take in what was found in an iteration.

        Args:
            iteration: The iteration, counted from 0.
            feed: Its inputs.
            backends: The backends; those with an error have failed by now.
            invalid: The outputs that hold NaN or infinity, where that was looked for.
            compared: What was found of each output, by label of the run that was compared with the reference.
        """

    def finish(self, outcome: Outcome, /) -> None:
        """Put the commands into what was found in the whole run."""


class Postprocessing(Protocol):
    """Changes outputs before they are compared."""

    def change(self, made: Mapping[str, IterationResult], /) -> Mapping[str, IterationResult]:
        """Return the outputs of all runs, by label, as they are to be compared.

        Raises:
            DataError: A function cannot work on them.
        """

    def unhidden(
        self, pair: tuple[IterationResult, IterationResult], raw: tuple[Mapping[str, Any], Mapping[str, Any]], /
    ) -> tuple[IterationResult, IterationResult]:
        """Return the outputs of two runs with those as they were made whose change hides that they cannot be compared.

        Args:
            pair: Outputs of candidate and reference as they are to be compared.
            raw: The same as they were made.
        """


class Rounding(Protocol):
    """Knows how far rounding takes the outputs of a model."""

    def begin(self, feed: Feed, /) -> None:
        """Take other inputs."""

    def close(self) -> None:
        """Deactivate what was run."""

    def judge(self, options: Any, candidate: str, reference: str, /, *, detail: bool) -> CompareFunction:
        """Return a compare function that judges by rounding alone.

        Args:
            options: What the default compare function is told, but for its tolerances.
            candidate: Label of a run.
            reference: Label of the other.
            detail: Whether to compute what only a report shows, too.
        """

    def explanation(self, candidate: str, reference: str, share: float, /) -> str:
        """Return in words whether rounding may explain an error of a share of the output's largest value."""


class Windows(Protocol):
    """Goes through the models of several backends part by part, so that few tensors are held at a time.

    Attributes:
        judge: Makes of a comparer one that also knows what to expect of the models.
    """

    judge: Callable[[Any], Any]

    def steps(self, source: Source, pace: Pace, /) -> Generator[Step, None, None]:
        """Yield steps in place of `polycmp.runs.loop.run_steps`, several per iteration, numbered by their window."""

    def visible(self, label: str, /) -> frozenset[str] | None:
        """Return the outputs that a backend can show, None if all."""


class MakeAverages(Protocol):
    """The factory of the service `averages`."""

    def __call__(self, plan: ComparePlan, registry: Registry, /) -> Averages:
        """Return the service for a run.

        Raises:
            UsageError: Means make no sense for the plan.
        """


class MakeFollowUps(Protocol):
    """The factory of the service `follow_ups`."""

    def __call__(self, plan: Plan, resolved: Resolved, /) -> FollowUps:
        """Return the service for a run."""


class MakePostprocessing(Protocol):
    """The factory of the service `postprocessing`."""

    def __call__(self, plan: ComparePlan, /) -> Postprocessing:
        """Return the service for a run.

        Raises:
            UsageError: What is asked for is not understood.
            DataError: A user's function is missing.
        """


class MakeRounding(Protocol):
    """The factory of the service `rounding`."""

    def __call__(self, resolved: Resolved, reference: str, /) -> Rounding:
        """Return the service for a run; the reference is a label, and need not be a backend's."""


class MakeWindows(Protocol):
    """The factory of the service `windows`."""

    def __call__(
        self, resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str], /
    ) -> Windows | None:
        """Return the way through the models, as `open_windows` is asked for it; None where there is none."""


class MakeWorkers(Protocol):
    """The factory of the service `workers`."""

    def __call__(self, data: DataPlan, timeout: float, /) -> MakeWorker:
        """Return what makes runners of backends whose work is done in other processes.

        Args:
            data: Where inputs come from: backends may calibrate with them.
            timeout: Seconds after which a process that does not answer counts as hung; 0 waits for ever.
        """


def _required(registry: Registry, name: str, option: str) -> Any:
    """Return the factory of a service that an option asks for.

    Raises:
        PluginError: It is not there.
    """
    try:
        return registry.load(registry.find_service(name))
    except PolycmpError as error:
        error.whose = error.whose or option
        raise


def open_averages(plan: ComparePlan, registry: Registry) -> Averages:
    """Return what judges means.

    Raises:
        PluginError: It is not there.
        UsageError: Means make no sense for the plan.
    """
    make: MakeAverages = _required(registry, "averages", "--check-average")
    return make(plan, registry)


def open_follow_ups(plan: Plan, resolved: Resolved) -> FollowUps | None:
    """Return what knows what to type after a run; None if it is not there."""
    if "follow_ups" not in resolved.registry.services:
        return None
    make: MakeFollowUps = resolved.registry.load(resolved.registry.services["follow_ups"])
    return make(plan, resolved)


def open_postprocessing(plan: ComparePlan, registry: Registry) -> Postprocessing | None:
    """Return what changes outputs before they are compared; None if nothing is asked for; errors as of the factory.

    Raises:
        PluginError: It is not there.
    """
    if not (plan.postprocess or plan.postprocess_script):
        return None
    option = "--postprocess" if plan.postprocess else "--postprocess-func-script"
    make: MakePostprocessing = _required(registry, "postprocessing", option)
    return make(plan)


def open_workers(registry: Registry, data: DataPlan, timeout: float, option: str) -> MakeWorker:
    """Return what makes runners in other processes, as the factory is asked for it.

    Args:
        registry: The plugins.
        data: Where inputs come from.
        timeout: Seconds to wait for an answer.
        option: What the user asked for it with.

    Raises:
        PluginError: It is not there.
    """
    make: MakeWorkers = _required(registry, "workers", option)
    return make(data, timeout)


def open_rounding(resolved: Resolved, reference: str, tolerance: str) -> Rounding | None:
    """Return what knows of rounding; None if it is not there, or there is no backend, and nobody asked for it.

    Args:
        resolved: The backends.
        reference: Label of the reference.
        tolerance: What the user asked for, `auto` or nothing.

    Raises:
        PluginError: It was asked for, and is not there.
        UsageError: It was asked for, and there is no backend.
    """
    registry = resolved.registry
    if not tolerance and ("rounding" not in registry.services or not resolved.backends):
        return None
    make: MakeRounding = _required(registry, "rounding", f"--tolerance {tolerance}")
    return make(resolved, reference)


def open_windows(
    resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str]
) -> Windows | None:
    """Return the way through models in parts; None where there is none, or nothing that knows one.

    Args:
        resolved: The backends, all in this process.
        runs: Their runs of the whole model, in the same order.
        max_memory: Bytes for the tensors of all runs, 0 for a share of what is free.
        reference: Label of the reference; empty for the last.
        notes: Where to put what a reader should know: what the service says, or which package brings it.
    """
    registry = resolved.registry
    try:
        make: MakeWindows = registry.load(registry.find_service("windows"))
    except PolycmpError as error:
        notes.append(f"all tensors are held in memory at once; a package compares them part by part: {error.hint}")
        return None
    return make(resolved, runs, max_memory, reference, notes)
