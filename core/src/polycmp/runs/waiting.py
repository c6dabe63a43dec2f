"""Workers that ran a part of a model and wait for the next one, in other processes or on other machines."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar


class Waits(Protocol):
    """A worker that can wait."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        ...

    def close(self) -> None:
        """Make sure that nothing is left of it."""
        ...


Worker = TypeVar("Worker", bound=Waits)


class WaitingWorkers(Generic[Worker]):
    """Workers by what they can run.

    They end when nobody can ask for them any more, and with this process.
    """

    def __init__(self) -> None:
        self._workers: dict[Hashable, list[Worker]] = {}
        weakref.finalize(self, _close_all, self._workers)

    def take(self, kind: Hashable) -> Worker | None:
        """Return a worker of a kind, which no longer waits; None if none is left."""
        waiting = self._workers.get(kind, [])
        while waiting:
            worker = waiting.pop()
            if worker.is_running:
                return worker
            worker.close()
        return None

    def put(self, kind: Hashable, worker: Worker) -> None:
        """Let a worker wait, whose runner was deactivated without an error."""
        self._workers.setdefault(kind, []).append(worker)


def _close_all(workers: dict[Hashable, list[Worker]]) -> None:
    for waiting in workers.values():
        while waiting:
            waiting.pop().close()
