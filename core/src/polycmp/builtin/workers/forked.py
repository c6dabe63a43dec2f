"""A runner object in a copy of this process, so that a crash or a hang there is an error here.

Nothing is pickled: the copy has the runner, its loaders and all that they hold, as they are at that moment.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from polycmp.builtin.workers.child import Served
from polycmp.builtin.workers.memory import Arena
from polycmp.builtin.workers.protocol import Job
from polycmp.builtin.workers.runner import WorkerRunner
from polycmp.errors import InvalidValueError
from polycmp.process import OUTPUT_SECONDS, STOP_SECONDS, Ending
from polycmp.runner import Runner


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
        if "fork" not in multiprocessing.get_all_start_methods():
            raise InvalidValueError(
                "use_subprocess: this system makes no copies of processes",
                why="and a runner object exists in the process that made it only",
                hint="polycmp run MODEL -b NAME --use-subprocess makes each backend in a process of its own",
            )
        super().__init__(Job(runner.name, type(runner).__name__), "", timeout)
        self._runner = runner

    def _start(self) -> None:
        self._process = ForkedProcess(partial(_Held, self._runner, *self._arenas))

    def _agree(self) -> None:
        """Do nothing: both sides are the same program."""


class ForkedProcess:
    """A copy of this process that answers messages; it has the methods of `polycmp.process.ChildProcess`.

    Args:
        make: Makes what answers, in the copy.
    """

    def __init__(self, make: Callable[[], Served]) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(make, theirs, self._ours), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # told wherever a library has started threads
            self._process.start()
        theirs.close()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.is_alive()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: The copy is gone.
        """
        self._ours.send_bytes(json.dumps(message).encode())

    def receive(self, timeout: float = 0.0) -> dict[str, Any] | None:
        """Return the next message; None if the copy is gone.

        Args:
            timeout: Seconds to wait; 0 waits for ever.

        Raises:
            TimeoutError: Nothing came in time.
        """
        if not self._ours.poll(timeout or None):
            raise TimeoutError
        try:
            message: dict[str, Any] = json.loads(self._ours.recv_bytes())
        except (EOFError, ConnectionError):
            return None
        return message

    def ending(self) -> Ending:
        """Wait for the copy and return how it ended; a copy that closed its pipe and continues is killed."""
        self._wait(STOP_SECONDS)
        return Ending(self._process.exitcode or 0)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self, grace: float = STOP_SECONDS) -> None:
        """Make sure that no process and no descriptor is left.

        Args:
            grace: Seconds to wait for it to notice that its connection is closed.
        """
        self._ours.close()
        self._wait(grace)
        self._process.close()

    def _wait(self, seconds: float) -> None:
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(OUTPUT_SECONDS)


class _Held(Served):
    """Answers with a runner that was made elsewhere."""

    def __init__(self, runner: Runner, inputs: Arena, outputs: Arena) -> None:
        super().__init__(inputs, outputs)
        self._given = runner

    def make(self, _job: Mapping[str, Any]) -> tuple[Runner, tuple[str, ...]]:
        """Return that runner."""
        return self._given, ()


def _serve(make: Callable[[], Served], connection: Connection, parents_end: Connection) -> None:
    """Answer the parent's messages until it wants no more or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parents_end.close()  # or it would go unnoticed here that the parent is gone
    served = make()
    while True:
        try:
            message = json.loads(connection.recv_bytes())
        except (EOFError, ConnectionError):
            return
        connection.send_bytes(json.dumps(served.answer(message)).encode())
