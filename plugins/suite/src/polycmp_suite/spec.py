"""The contract between a suite and what runs its cases: descriptors, the hook, and what passes between the two.

A package that brings an executor names a light module under the entry-point group `polycmp_suite`::

    [project.entry-points.polycmp_suite]
    mine = "my_cluster.plugin"

and this module has the hook::

    from polycmp_suite.spec import ExecutorSpec, executor_hookimpl

    @executor_hookimpl
    def polycmp_suite_executors():
        yield ExecutorSpec("mine", "My cluster", "my_cluster.executor:MyExecutor")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pluggy

GROUP = "polycmp_suite"
executor_hookspec = pluggy.HookspecMarker(GROUP)
executor_hookimpl = pluggy.HookimplMarker(GROUP)


@dataclass(frozen=True)
class ExecutorSpec:
    """A way to run cases, chosen with `--executor NAME`.

    Attributes:
        name: Name to type after `--executor`.
        summary: One line for error messages and documentation.
        factory: `"package.module:attribute"`, called as `factory(resources) -> Executor` with `Resources`.
        needs: Importable modules without which it cannot run, looked for without importing them.
        install: The command that installs them.
    """

    name: str
    summary: str
    factory: str
    needs: tuple[str, ...] = ()
    install: str = ""


class ExecutorHooks:
    """The hook of an executor's plugin; it takes no argument, returns descriptors, and does no work."""

    @executor_hookspec
    def polycmp_suite_executors(self) -> Iterable[ExecutorSpec]:
        """Contribute executors; see the example at the top of this module."""
        raise NotImplementedError


@dataclass(frozen=True)
class Resources:
    """Resources that a suite may use.

    Attributes:
        jobs: Cases at the same time; 0 leaves it to the executor.
        memory: Bytes that the cases running at the same time may have reserved together; 0 for all of the machine's.
        gpus: Names of the GPUs, as CUDA_VISIBLE_DEVICES has them.
        address: Address of a cluster; empty for one of this machine's own.
    """

    jobs: int = 0
    memory: int = 0
    gpus: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True)
class Job:
    """One attempt at a case.

    Attributes:
        case: The case's identity.
        words: The words of its command line after `polycmp`. Paths in them are relative to `folder`.
        folder: The absolute path of the folder in which the command is started.
        output: The absolute path of an existing folder; reports that `words` name, and `log.txt`, belong there.
        files: The files that the case reads, relative to `folder`, for executors that run it elsewhere.
        timeout: Seconds after which it is ended; 0 for never.
        memory: Bytes that it may take; 0 for no limit.
        gpus: GPUs that it takes.
        resources: Further resources that it takes, by name.
        attempt: Counted from 1.
        shares_process: Whether it may run in a process in which others ran before: it names no code and no limits.
    """

    case: str
    words: tuple[str, ...]
    folder: str
    output: str
    files: tuple[str, ...] = ()
    timeout: float = 0.0
    memory: int = 0
    gpus: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    attempt: int = 1
    shares_process: bool = False


@dataclass(frozen=True)
class Started:
    """A job has begun.

    Attributes:
        job: The job.
        where: The machine, where that is another one.
    """

    job: Job
    where: str = ""


@dataclass(frozen=True)
class Ended:
    """A job has ended; its files are in its output folder.

    Attributes:
        job: The job.
        status: The exit status of its process, negative for a signal.
        seconds: Duration in seconds.
        memory: The most that one of its processes took, in bytes; 0 if not known.
        stopped: Reason why the executor ended it, or could not start it; empty if it ended by itself.
        where: The machine, where that is another one.
    """

    job: Job
    status: int
    seconds: float = 0.0
    memory: int = 0
    stopped: str = ""
    where: str = ""


@dataclass(frozen=True)
class Tick:
    """Nothing has happened for a moment; progress may be shown."""


Event: TypeAlias = Started | Ended | Tick


class Queue(Protocol):
    """The jobs that wait."""

    def __len__(self) -> int:
        """Count the waiting jobs."""
        ...

    def take(self, fits: Callable[[Job], bool] = ...) -> Job | None:
        """Return the first job that fits, which waits no longer; None if none does."""
        ...


class Executor(Protocol):
    """Runs jobs."""

    def run(self, queue: Queue) -> Iterator[Event]:
        """Run jobs until none waits and none runs, and tell what happens.

        A job that has ended may be back in the queue, to be tried again, when the iterator goes on. Closing the
        iterator ends every process that still runs.
        """
        ...
