"""Services of plugins to runs: how such a service is requested, what it returns, and what a run does without it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import PolycmpError

if TYPE_CHECKING:
    from polycmp.plan import DataPlan
    from polycmp.plugins import Registry
    from polycmp.runs.backend_run import BackendRun
    from polycmp.runs.loop import Pace, Step
    from polycmp.runs.resolution import MakeWorker, Resolved
    from polycmp.tensors import Source


class Windows(Protocol):
    """Goes through the models of several backends part by part, so that few tensors are held at a time.

    Tensors that belong together have one name in its steps, those of `--map-output` the candidate's.

    Attributes:
        judge: Makes of a comparer one that also knows what to expect of the models.
        to_reference: Names in the reference's model of tensors, by those in the steps, as far as they differ.
    """

    judge: Callable[[Any], Any]
    to_reference: Mapping[str, str]

    def steps(self, source: Source, pace: Pace, /) -> Generator[Step, None, None]:
        """Yield steps in place of `polycmp.runs.loop.run_steps`, several per iteration, numbered by their window."""

    def visible(self, label: str, /) -> frozenset[str] | None:
        """Return the outputs that a backend can show, None if all."""


class MakeWindows(Protocol):
    """The factory of the service `windows`."""

    def __call__(
        self, resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str], /
    ) -> Windows | None:
        """Return the way through the models, as `open_windows` is asked for it; None where there is none."""


class MakeWorkers(Protocol):
    """The factory of the service `workers`."""

    def __call__(self, data: DataPlan, timeout: float, /) -> MakeWorker:
        """Return the maker of runners whose work is done in other processes.

        Args:
            data: The source of inputs: backends may calibrate with them.
            timeout: Seconds after which a process that does not answer counts as hung; 0 waits for ever.
        """


class FindEnvironment(Protocol):
    """Lookup of environments by backend and release, made by the service `environments`."""

    def __call__(self, backend: str, version: str, /) -> str:
        """Return the interpreter of an environment that has a release of a backend's runtime, made if need be.

        It can run `polycmp` with the plugin that brings the backend, of the versions that are installed here.

        Args:
            backend: The backend's name.
            version: The release, as the user typed it.

        Raises:
            PolycmpError: The environment cannot be made; says why.
        """


class MakeEnvironments(Protocol):
    """The factory of the service `environments`."""

    def __call__(self, registry: Registry, /) -> FindEnvironment:
        """Return the lookup of environments; none is looked for or made yet."""


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


def open_workers(registry: Registry, data: DataPlan, timeout: float, option: str) -> MakeWorker:
    """Open the maker of runners in other processes.

    Args:
        registry: The plugins.
        data: The source of inputs.
        timeout: Seconds to wait for an answer.
        option: The option that the user asked for them with.

    Raises:
        PluginError: It is not there.
    """
    make: MakeWorkers = _required(registry, "workers", option)
    return make(data, timeout)


def open_environments(registry: Registry, option: str) -> FindEnvironment:
    """Open what finds environments with other releases; arguments and errors as of `open_workers`."""
    make: MakeEnvironments = _required(registry, "environments", option)
    return make(registry)


def held_at_once(option: str) -> str:
    """Return the note on an option that needs all tensors of an iteration at once."""
    return f"all tensors are held in memory at once, which {option} needs: memory grows with the model's tensors"


def open_windows(
    resolved: Resolved, runs: Sequence[BackendRun], max_memory: int, reference: str, notes: list[str]
) -> Windows | None:
    """Return the way through models in parts; None where there is none, or nothing that knows one.

    Args:
        resolved: The backends, all in this process.
        runs: Their runs of the whole model, in the same order.
        max_memory: Bytes for the tensors of all runs, 0 for a share of what is free.
        reference: Label of the reference; empty for the last.
        notes: List that remarks for the reader are appended to: those of the service, or the package to install.
    """
    registry = resolved.registry
    try:
        make: MakeWindows = registry.load(registry.find_service("windows"))
    except PolycmpError as error:
        notes.append(f"all tensors are held in memory at once; a package compares them part by part: {error.hint}")
        return None
    return make(resolved, runs, max_memory, reference, notes)
