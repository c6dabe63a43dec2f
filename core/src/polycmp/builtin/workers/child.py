"""The worker, started by `runner` with the descriptors of shared memory as arguments."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from polycmp import __version__
from polycmp.builtin.workers.memory import Arena
from polycmp.builtin.workers.protocol import PROTOCOL, error_to_json
from polycmp.errors import is_users_failure
from polycmp.model import Model, ModelSettings
from polycmp.plan import from_values
from polycmp.plugins import Registry
from polycmp.process import Connection, abandon_threads
from polycmp.runner import Runner, infer, input_metadata
from polycmp.runs import PlanSource, asked_shapes
from polycmp.tensors import DataSource, Feed, TensorMetadata, dtype_name


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

    def make(self, job: Mapping[str, Any]) -> tuple[Runner, tuple[str, ...]]:
        """Return the runner of a job, and the modules whose version tells which backend it is."""
        registry = self._registry
        plan = from_values(job["plan"], registry)
        [backend] = plan.backends
        contribution = registry.find_runner(backend.backend)
        source, data = _SessionsInputs(job["inputs"], registry), plan.data
        model = Model(plan.model, registry, ModelSettings(plan.loader_options, {}, source, plan.model_kind))
        if data.input_shapes or data.dimensions:
            model.input_shapes = asked_shapes(data, model.describe())
        if job["part"]:
            model = model.part(model.load(model.kind), same_inputs=bool(model.input_shapes))
        registry.require(contribution)
        runner: Runner = registry.load(contribution)(model, backend.options, name=backend.label)
        return runner, contribution.spec.needs

    def _activate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Make and activate the runner of a job."""
        if "level" in message:  # another release of polycmp may lack the word
            logging.getLogger("polycmp").setLevel(message["level"])
        runner, needs = self.make(message["job"])
        runner.activate()
        self._runner = runner
        version = runner.backend_version or _version(needs)
        return {"inputs": _metadata(input_metadata(runner)), "version": version}

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


class _SessionsInputs(DataSource):
    """The inputs of the session, made here only if a backend asks for them, which one that calibrates does.

    What makes them may be a plugin that this environment need not have.

    Args:
        values: A plan of the inputs, as plain values.
        registry: The plugins.
    """

    def __init__(self, values: Mapping[str, Any], registry: Registry) -> None:
        self._values = values
        self._registry = registry

    @property
    def synthetic(self) -> bool:  # type: ignore[override]
        """Whether the numbers are made up."""
        return self._source.synthetic

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs."""
        return self._source(inputs)

    @cached_property
    def _source(self) -> DataSource:
        return PlanSource(from_values(self._values, self._registry).data, self._registry)


def _metadata(inputs: TensorMetadata) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": None if entry.dtype is None else dtype_name(entry.dtype),
            "shape": entry.shape,
            "min_shape": entry.min_shape,
            "max_shape": entry.max_shape,
            **({"optional": True} if entry.optional else {}),  # another release of polycmp may lack the word
        }
        for name, entry in inputs.items()
    ]


def _version(needs: tuple[str, ...]) -> str:
    versions = [getattr(sys.modules.get(name), "__version__", "") for name in needs]
    return str(next((version for version in versions if version), ""))
