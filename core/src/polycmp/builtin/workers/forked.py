"""A runner object in a copy of this process, so that a crash or a hang there is an error here.

Nothing is pickled: the copy has the runner, its loaders and all that they hold, as they are at that moment.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from polycmp.builtin.workers.child import Worker
from polycmp.builtin.workers.memory import Arena
from polycmp.builtin.workers.runner import WorkerRunner
from polycmp.errors import InvalidValueError
from polycmp.process import ChildProcess, Connection, CopiedProcess
from polycmp.runner import Runner
from polycmp.runs import Job


class ForkedRunner(WorkerRunner):
    """Runs a runner in a copy of this process; outputs are views of shared memory, valid until the next call.

    Args:
        runner: The runner, not active. It stays as it is: all changes happen in the copy.
        timeout: Seconds after which a runner that does not answer counts as hung; 0 waits for ever.

    Raises:
        InvalidValueError: This system makes no copies of processes.
    """

    patience = "subprocess_timeout=SECONDS, or None to wait for ever"

    def __init__(self, runner: Runner, timeout: float = 0.0) -> None:
        if not CopiedProcess.can_copy():
            raise InvalidValueError(
                "use_subprocess: this system cannot copy processes",
                why="and a runner object exists only in the process that made it",
                hint="polycmp run MODEL -b NAME --use-subprocess runs each backend in its own process",
            )
        super().__init__(Job(runner.name, type(runner).__name__), "", timeout)
        self._runner = runner

    def _start(self, inputs: Arena, outputs: Arena) -> ChildProcess:
        gc.collect()  # sessions that were left to it would wait, in the copy, for threads that the copy lacks
        answer = partial(_answer, partial(_ForkedWorker, self._runner, inputs, outputs))
        return CopiedProcess(answer, on_stderr=lambda line: print(line, file=sys.stderr))

    def _agree(self) -> None:
        """Do nothing: both sides are the same program."""


class _ForkedWorker(Worker):
    """A worker in a copy of this process, for a runner that exists already."""

    def __init__(self, runner: Runner, inputs: Arena, outputs: Arena) -> None:
        super().__init__(inputs, outputs)
        self._given = runner

    def make(self, _job: Mapping[str, Any]) -> tuple[Runner, None]:
        """Return the given runner."""
        return self._given, None


def _answer(make: Callable[[], Worker], connection: Connection) -> None:
    """Answer the parent's messages until it wants no more or is gone."""
    served = make()
    while (message := connection.receive()) is not None:
        connection.send(served.answer(message))
