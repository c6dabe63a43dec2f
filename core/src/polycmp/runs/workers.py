"""Backends in other processes and environments: the services of plugins that run them there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import PolycmpError

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.plan import DataPlan, Plan
    from polycmp.plugins import Registry
    from polycmp.runner import Runner
    from polycmp.runs.resolved_backend import MakeWorker, ResolvedBackend


class MakeWorkers(Protocol):
    """The factory of the services `workers` and `remote`."""

    def __call__(self, data: DataPlan, timeout: float, /) -> MakeWorker:
        """Return a factory of runners that work in other processes.

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


def make_workers(plan: Plan, registry: Registry) -> Iterator[MakeWorker | None]:
    """Yield for each backend the factory of its runners in another process; None for those of this one."""
    for backend in plan.backends:
        option = backend.elsewhere or ("--use-subprocess" if plan.subprocess else "")
        service = "remote" if backend.is_remote else "workers"
        worker = open_workers(registry, plan.data, plan.timeout, option, service) if option else None
        yield _in_environment(worker, registry, option) if worker is not None and backend.version else worker


def _in_environment(make_worker: MakeWorker, registry: Registry, option: str) -> MakeWorker:
    """Wrap a maker of runners so that they run in an environment with the release that a backend asks for.

    The environment is looked for when the first of them is made, so that what fails there is the backend's failure.
    """
    environments = open_environments(registry, option)
    interpreters: dict[str, str] = {}

    def make(backend: ResolvedBackend, part: Loader[Any] | None, same_inputs: bool) -> Runner:
        plan = backend.plan
        if plan.version not in interpreters:
            interpreters[plan.version] = environments(plan.backend, plan.version)
        there = replace(plan, python=interpreters[plan.version], version="")
        return make_worker(replace(backend, plan=there), part, same_inputs)

    return make


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


def open_workers(
    registry: Registry, data: DataPlan, timeout: float, option: str, service: str = "workers"
) -> MakeWorker:
    """Load the factory of runners in other processes, here or on other machines.

    Args:
        registry: The plugins.
        data: The source of inputs.
        timeout: Seconds to wait for an answer.
        option: The option that the user asked for them with.
        service: "workers" for processes of this machine, "remote" for those of others.

    Raises:
        PluginError: It is not there.
    """
    make: MakeWorkers = _required(registry, service, option)
    return make(data, timeout)


def open_environments(registry: Registry, option: str) -> FindEnvironment:
    """Load the lookup of environments with other releases; arguments and errors as of `open_workers`."""
    make: MakeEnvironments = _required(registry, "environments", option)
    return make(registry)
