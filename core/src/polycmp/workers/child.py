"""The worker, started by `host` with its file descriptors as arguments."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from polycmp import __version__
from polycmp.calls import infer, input_metadata
from polycmp.ending import abandon_threads
from polycmp.errors import is_users_failure
from polycmp.inputs import asked_shapes, make_source
from polycmp.model import Model, ModelSettings
from polycmp.plan.text import from_values
from polycmp.plugins import Registry
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_name
from polycmp.workers.memory import Arena
from polycmp.workers.protocol import PROTOCOL, Channel, error_to_json


class _Relay(logging.Handler):
    """Sends log records to the session, which decides what to show."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self._channel.send({"log": [record.levelno, record.name, record.getMessage()]})


def main(arguments: list[str]) -> int:
    """Answer the session's messages until it says stop or is gone."""
    reading, writing, inputs, outputs, parent = (int(item) for item in arguments)
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the session ends its workers
    os.dup2(2, 1)  # whatever a library prints must not look like a result of the session
    channel = Channel(reading, writing)
    hello = channel.receive()
    channel.send({"protocol": PROTOCOL, "polycmp": __version__, "python": sys.executable})
    if hello is None or hello["protocol"] != PROTOCOL:
        return 0
    logger = logging.getLogger("polycmp")
    logger.addHandler(_Relay(channel))
    logger.setLevel(hello["level"])
    logger.propagate = False
    worker = _Worker(Arena(inputs), Arena(outputs))
    while True:
        message = channel.receive()
        if message is None or message["do"] == "stop":
            abandon_threads(0)
            return 0
        try:
            answer = getattr(worker, message["do"])(message)
        except BaseException as error:
            if not is_users_failure(error):
                raise
            answer = {"error": error_to_json(error)}
        channel.send(answer)


class _Worker:
    """The runner and what the session may ask of it."""

    def __init__(self, inputs: Arena, outputs: Arena) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._runner: Runner | None = None

    def activate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Make and activate the runner of a job."""
        job = message["job"]
        registry = Registry.discover()
        plan = from_values(job["plan"], registry)
        [backend] = plan.backends
        contribution = registry.find_runner(backend.backend)
        source, data = make_source(plan.data, registry), plan.data
        model = Model(plan.model, registry, ModelSettings(plan.loader_options, {}, source, plan.model_kind))
        if data.input_shapes or data.dimensions:
            model.input_shapes = asked_shapes(data, model.describe())
        if job["part"]:
            model = model.part(model.load(model.kind), same_inputs=bool(model.input_shapes))
        registry.require(contribution)
        runner: Runner = registry.load(contribution)(model, backend.options, name=backend.label)
        runner.activate()
        self._runner = runner
        version = runner.backend_version or _version(contribution.spec.needs)
        return {"inputs": _metadata(input_metadata(runner)), "version": version}

    def infer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Run once on the tensors in shared memory."""
        assert self._runner is not None
        outputs = infer(self._runner, self._inputs.get(message["inputs"]))
        return {"outputs": self._outputs.put(outputs), "seconds": self._runner.last_inference_time()}

    def deactivate(self, _message: Mapping[str, Any]) -> dict[str, Any]:
        """Deactivate the runner."""
        assert self._runner is not None
        self._runner.deactivate()
        return {"notes": [str(note) for note in self._runner.notes]}


def _metadata(inputs: TensorMetadata) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": None if entry.dtype is None else dtype_name(entry.dtype),
            "shape": entry.shape,
            "min_shape": entry.min_shape,
            "max_shape": entry.max_shape,
        }
        for name, entry in inputs.items()
    ]


def _version(needs: tuple[str, ...]) -> str:
    versions = [getattr(sys.modules.get(name), "__version__", "") for name in needs]
    return str(next((version for version in versions if version), ""))


def _die_with(parent: int) -> None:
    """Ask the system to end this process when the session does, however that ends."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # the session died before we could ask
            os._exit(1)
