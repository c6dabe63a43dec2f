"""A runner whose work is done in another process."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from polycmp import __version__
from polycmp.builtin.workers.child import PROTOCOL
from polycmp.builtin.workers.memory import Arena, create
from polycmp.errors import BackendError, PluginError, PolycmpError, WorkerError, error_from_json
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.plan import BackendPlan, DataPlan
from polycmp.process import ChildProcess
from polycmp.runner import Runner
from polycmp.runs import Job, MakeWorker, ResolvedBackend, WaitingWorkers, WorkerFacts, make_job
from polycmp.tensors import TensorMetadata

log: logging.Logger = logging.getLogger("polycmp.workers")

#: Seconds that a worker may take to import polycmp and answer.
START_SECONDS = 60.0


def make_workers(data: DataPlan, timeout: float) -> MakeWorker:
    """Return the maker of runners whose work is done in worker processes.

    Args:
        data: The source of inputs: backends may calibrate with them.
        timeout: As for `WorkerRunner`.

    Raises:
        BackendError: Processes cannot be given open files on this system, which is how tensors reach them.
    """
    if not hasattr(os, "fork"):
        raise BackendError(
            "backends cannot run in processes of their own on this system",
            why="they receive tensors through inherited open files, which Windows does not support",
            hint="leave --use-subprocess and python= out, or use Linux, macOS or WSL",
        )

    waiting = WaitingWorkers[Worker]()

    def make(backend: ResolvedBackend, part: Loader[Any] | None, same_inputs: bool) -> Runner:
        if part is not None:
            return PartWorkerRunner(backend.plan, backend.model, data, part, timeout, same_inputs, waiting=waiting)
        job = make_job(backend.plan, backend.model, data)
        return WorkerRunner(job, backend.plan.python, timeout, backend.worker_facts)

    return make


class Worker(NamedTuple):
    """A worker process and the memory that it shares with this one.

    Attributes:
        process: The process; both sides speak the same protocol.
        inputs: Memory that the inputs are written to.
        outputs: Memory that it writes outputs to.
    """

    process: ChildProcess
    inputs: Arena
    outputs: Arena

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self.process.is_running

    def close(self) -> None:
        """Make sure that no process and no memory is left."""
        self.process.close()
        self.inputs.close()
        self.outputs.close()


class WorkerRunner(Runner):
    """Runs a job in a worker process; outputs are views of memory that the worker fills, valid until the next call.

    Args:
        job: The backend and model to run.
        python: The interpreter of the worker's environment; empty means this one.
        timeout: Seconds after which a worker that does not answer counts as hung; 0 waits for ever.
        facts: Where to note what the worker tells of the backend.
    """

    #: The option that lets a worker take longer.
    patience = "--timeout SECONDS"

    def __init__(self, job: Job, python: str = "", timeout: float = 0.0, facts: WorkerFacts | None = None) -> None:
        super().__init__(job.label)
        self._job = job
        self._facts = facts or WorkerFacts()
        self._python = python or sys.executable
        self._timeout = timeout
        self._worker: Worker | None = None
        self._metadata = TensorMetadata()
        self._unanswered = self._failed = False

    def activate_impl(self) -> None:
        """Get a worker and activate its runner."""
        try:
            self._open()
            answer = self._ask({"do": "activate", "job": self._job.to_json(), "level": _level()}, self._timeout)
        except BaseException:
            self._end()
            raise
        for entry in answer["inputs"]:
            self._metadata.add(**entry)
        self.backend_version: str = answer["version"]
        self._facts.precision = answer.get("precision", "")  # another release of polycmp may lack the word

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the input metadata of the worker's runner."""
        return self._metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Pass the feed through shared memory and return views of the outputs there."""
        assert self._worker is not None
        answer = self._ask({"do": "infer", "inputs": self._worker.inputs.put(feed_dict)}, self._timeout)
        self.inference_time: float | None = answer["seconds"]
        return self._worker.outputs.get(answer["outputs"])

    def deactivate_impl(self) -> None:
        """Deactivate the worker's runner and let the worker go."""
        worker = self._worker
        try:
            if worker is not None and self._unanswered:  # interrupted in a call, which may take for ever
                worker.process.kill()
            elif worker is not None and worker.process.is_running:
                self.notes.extend(self._ask({"do": "deactivate"}, self._timeout)["notes"])
                self._leave()
        finally:
            self._end()

    def _open(self) -> None:
        """Start a worker, and make sure that both sides speak the same protocol."""
        arenas = Arena(create()), Arena(create())
        try:
            self._worker = Worker(self._start(*arenas), *arenas)
        except BaseException:
            for arena in arenas:
                arena.close()
            raise
        self._agree()

    def _leave(self) -> None:
        """Do nothing: the worker ran what it was started for, and ends."""

    def _start(self, inputs: Arena, outputs: Arena) -> ChildProcess:
        environ = dict(os.environ)
        if self._python != sys.executable:
            environ.pop("PYTHONPATH", None)  # it names packages of this environment
        shared, label = [inputs.descriptor, outputs.descriptor], self.name
        try:
            return ChildProcess(
                "polycmp.builtin.workers.child",
                [str(descriptor) for descriptor in shared],
                python=self._python,
                environ=environ,
                descriptors=shared,
                on_stderr=lambda line: log.debug("%s: %s", label, line),
            )
        except OSError as error:
            raise PluginError(
                f"cannot start {self._python}",
                whose=self.name,
                why=str(error),
                hint=f"python= names an interpreter: ls {self._python}",
            ) from error

    def _agree(self) -> None:
        """Make sure that both sides speak the same protocol."""
        answer = self._ask({"protocol": PROTOCOL, "polycmp": __version__, "level": _level()}, START_SECONDS)
        if answer["protocol"] != PROTOCOL:
            raise PluginError(
                f"polycmp {answer['polycmp']} in {self._python} does not understand polycmp {__version__}",
                whose=self.name,
                hint=f"{self._python} -m pip install --upgrade polycmp",
            )

    def _ask(self, message: dict[str, Any], timeout: float) -> dict[str, Any]:
        assert self._worker is not None
        process = self._worker.process
        self._unanswered = True
        try:
            process.send(message)
            end = time.monotonic() + timeout
            answer = process.receive(timeout)
            while answer is not None and "log" in answer:
                level, name, text = answer["log"]
                logging.getLogger(name).log(level, "%s: %s", self.name, text)
                left = end - time.monotonic() if timeout else 0.0
                if timeout and left <= 0:  # a worker that only goes on logging does not answer either
                    raise TimeoutError
                answer = process.receive(left)
        except BrokenPipeError:
            answer = None
        except TimeoutError:
            process.kill()
            raise WorkerError(
                f"hung: no answer for {timeout:g} s, so it was killed", whose=self.name, hint=self.patience
            ) from None
        self._unanswered = False
        if answer is None:
            raise self._died(starting="protocol" in message)
        if "error" in answer:
            self._failed = True
            raise error_from_json(answer["error"])
        return answer

    def _died(self, *, starting: bool) -> PolycmpError:
        """Return an error that says how the worker ended."""
        assert self._worker is not None
        ending = self._worker.process.ending()
        if ending.protocol_error:
            return WorkerError("was ended", whose=self.name, why=ending.protocol_error)
        if ending.status == -signal.SIGKILL:
            return WorkerError(str(ending), whose=self.name, why="perhaps the system killed it for lack of memory")
        if ending.status >= 0 and starting:
            return PluginError(
                f"{self._python} cannot run polycmp",
                why=ending.last_line,
                hint=f"{self._python} -m pip install polycmp and the plugin that brings {self._job.backend!r}",
            )
        return WorkerError(str(ending), whose=self.name, why=ending.last_line)

    def _end(self) -> None:
        """Make sure that no process and no memory is left."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _level() -> int:
    return logging.getLogger("polycmp").getEffectiveLevel()


class PartWorkerRunner(WorkerRunner):
    """Runs a part of a model in a worker process, which then waits for the next part.

    A worker in which something failed ends: what a library remembers of it would be blamed on the next part.

    Args:
        backend: The backend.
        model: The model that the part was cut out of.
        data: The source of inputs.
        part: Makes the part.
        timeout: As for `WorkerRunner`.
        same_inputs: Whether the part has the model's own inputs.
        waiting: Workers that other parts of the same backend left.
    """

    def __init__(
        self,
        backend: BackendPlan,
        model: Model,
        data: DataPlan,
        part: Loader[Any],
        timeout: float = 0.0,
        same_inputs: bool = False,
        *,
        waiting: WaitingWorkers[Worker],
    ) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._others = waiting
        self._backend, self._model, self._part = backend, model, part
        self._data, self._same_inputs = data, same_inputs
        super().__init__(make_job(backend, model, data, same_inputs=same_inputs), backend.python, timeout)

    def activate_impl(self) -> None:
        """Write the part and have a worker activate it.

        Raises:
            ModelError: Models of this kind cannot be written.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-", ignore_cleanup_errors=True)
        path = str(Path(self._folder.name) / f"part{Path(self._model.path).suffix}")
        try:
            self._model.save(self._part, path)
            self._job = make_job(self._backend, self._model, self._data, path, same_inputs=self._same_inputs)
            super().activate_impl()
        except BaseException:
            self._folder.cleanup()
            raise

    def deactivate_impl(self) -> None:
        """Let the worker go and remove the file."""
        try:
            super().deactivate_impl()
        finally:
            if self._folder is not None:
                self._folder.cleanup()

    def _open(self) -> None:
        self._worker = self._others.take(self._python)
        if self._worker is None:
            super()._open()

    def _leave(self) -> None:
        """Let the worker wait for the next part."""
        if self._worker is not None and not self._failed:
            self._others.put(self._python, self._worker)
            self._worker = None
