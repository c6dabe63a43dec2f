"""The worker, started by `runner` with the descriptors of shared memory as arguments."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from polycmp import __version__
from polycmp.builtin.workers.memory import Arena
from polycmp.errors import error_to_json, is_users_failure
from polycmp.plugins import Registry
from polycmp.process import Connection, abandon_threads
from polycmp.runner import Runner, infer, input_metadata, version_of
from polycmp.runs import ResolvedBackend, open_job

#: Raised when either side learns a message that the other must know; sides of different number do not talk.
PROTOCOL = 3


class _Relay(logging.Handler):
    """Sends log records to the session, which decides what to show."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        self._connection.send({"log": [record.levelno, record.name, record.getMessage()]})


def main(arguments: list[str]) -> int:
    """Answer the session's messages until it wants no more or is gone."""
    parent, inputs, outputs = (int(item) for item in arguments)
    connection = Connection(parent)
    request = connection.receive()
    connection.send({"protocol": PROTOCOL, "polycmp": __version__, "python": sys.executable})
    if request is None or request["protocol"] != PROTOCOL:
        return 0
    logger = logging.getLogger("polycmp")
    logger.addHandler(_Relay(connection))
    logger.setLevel(request["level"])
    logger.propagate = False
    worker = Worker(Arena(inputs), Arena(outputs))
    while True:
        message = connection.receive()
        if message is None:
            abandon_threads(0)
            return 0
        connection.send(worker.answer(message))


class Worker:
    """Answers the messages of a session with a runner.

    Args:
        inputs: Shared memory that the session writes inputs to.
        outputs: Shared memory that the outputs are written to.
    """

    def __init__(self, inputs: Arena, outputs: Arena) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._runner: Runner | None = None

    @cached_property
    def _registry(self) -> Registry:
        return Registry.discover()

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a message asks for; return what is to be sent back, which may be an error."""
        answers = {"activate": self._activate, "infer": self._infer, "deactivate": self._deactivate}
        try:
            return answers[message["do"]](message)
        except BaseException as error:
            if not is_users_failure(error):
                raise
            return {"error": error_to_json(error)}

    def make(self, job: Mapping[str, Any]) -> tuple[Runner, ResolvedBackend | None]:
        """Return the runner of a job, not active, and the backend that it is of, where there is one."""
        backend = open_job(job, self._registry)
        return backend.make_runner(), backend

    def _activate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Make and activate the runner of a job."""
        if "level" in message:  # another release of polycmp may lack the word
            logging.getLogger("polycmp").setLevel(message["level"])
        runner, backend = self.make(message["job"])
        runner.activate()
        self._runner = runner
        needs, precision = ((), "") if backend is None else (backend.needs, backend.precision)
        return {
            "inputs": input_metadata(runner).plain(),
            "version": version_of(runner, needs),
            "precision": precision,
        }

    def _infer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Run once on the tensors in shared memory."""
        assert self._runner is not None
        outputs = infer(self._runner, self._inputs.get(message["inputs"]))
        return {"outputs": self._outputs.put(outputs), "seconds": self._runner.last_inference_time()}

    def _deactivate(self, _message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._runner is not None
        runner, self._runner = self._runner, None
        runner.deactivate()
        return {"notes": [str(note) for note in runner.notes]}
