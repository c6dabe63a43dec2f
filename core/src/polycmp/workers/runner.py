"""A runner whose work is done in another process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import IO, Any

from polycmp import __version__
from polycmp.errors import PluginError, PolycmpError, WorkerError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp.workers import memory
from polycmp.workers.job import Job
from polycmp.workers.memory import Arena, beside_standard
from polycmp.workers.protocol import PROTOCOL, Channel, error_from_json

log = logging.getLogger("polycmp.workers")

#: How long a worker may take to import polycmp and say hello, and to end when asked, in seconds.
HELLO_SECONDS = 60.0
STOP_SECONDS = 5.0
#: Python puts the current folder first for `-c`, and a downloaded model may have a `numpy.py` beside it; `-P`, which
#: prevents that, is younger than the oldest Python that a worker may have. What PYTHONPATH names stays.
_CHILD = """
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
from polycmp.workers.child import main
sys.exit(main(sys.argv[1:]))
"""


class WorkerRunner(Runner):
    """Runs a job in a worker process; outputs are views of memory that the worker fills, valid until the next call.

    Args:
        job: What to run.
        python: The interpreter of the worker's environment; empty means this one.
        timeout: Seconds after which a worker that does not answer counts as hung; 0 waits for ever.
    """

    def __init__(self, job: Job, python: str = "", timeout: float = 0.0) -> None:
        super().__init__(job.label)
        self._job = job
        self._python = python or sys.executable
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._metadata = TensorMetadata()
        self._last_words: deque[str] = deque(maxlen=20)
        self._waiting = False

    def activate_impl(self) -> None:
        """Start the worker, make sure that both sides understand each other, and activate its runner."""
        self._arenas = Arena(memory.create()), Arena(memory.create())
        try:
            self._start()
            self._greet()
            answer = self._ask({"do": "activate", "job": self._job.to_json()}, self._timeout)
        except BaseException:
            self._end()
            raise
        for entry in answer["inputs"]:
            self._metadata.add(**entry)
        self.backend_version = answer["version"]

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return what the worker's runner said."""
        return self._metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Pass the feed through shared memory and return views of the outputs there."""
        answer = self._ask({"do": "infer", "inputs": self._arenas[0].put(feed_dict)}, self._timeout)
        self.inference_time = answer["seconds"]
        return self._arenas[1].get(answer["outputs"])

    def deactivate_impl(self) -> None:
        """Deactivate the worker's runner and end the process."""
        try:
            if self._waiting:  # interrupted in the middle of a call, which may take for ever
                self._kill()
            elif self._process is not None and self._process.poll() is None:
                self.notes.extend(self._ask({"do": "deactivate"}, self._timeout)["notes"])
        finally:
            self._end()

    def _start(self) -> None:
        to_child, from_parent = map(beside_standard, os.pipe())
        to_parent, from_child = map(beside_standard, os.pipe())
        shared = [arena.descriptor for arena in self._arenas]
        mine = [str(item) for item in (to_child, from_child, *shared, os.getpid())]
        try:
            self._process = subprocess.Popen(
                [self._python, "-c", _CHILD, *mine],
                pass_fds=(to_child, from_child, *shared),
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self._environment(),
            )
        except OSError as error:
            os.close(from_parent)
            os.close(to_parent)
            raise PluginError(
                f"cannot start {self._python}", why=str(error), hint=f"python= names an interpreter: ls {self._python}"
            ) from error
        finally:
            os.close(to_child)
            os.close(from_child)
        self._channel = Channel(to_parent, from_parent)
        assert self._process.stderr is not None
        threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True).start()

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if self._python != sys.executable:
            environment.pop("PYTHONPATH", None)  # it names packages of this environment
        return environment

    def _listen(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                text = line.decode(errors="replace").rstrip()
                self._last_words.append(text)
                log.debug("%s: %s", self.name, text)

    def _greet(self) -> None:
        level = logging.getLogger("polycmp").getEffectiveLevel()
        answer = self._ask({"protocol": PROTOCOL, "polycmp": __version__, "level": level}, HELLO_SECONDS)
        if answer["protocol"] != PROTOCOL:
            raise PluginError(
                f"polycmp {answer['polycmp']} in {self._python} does not understand polycmp {__version__}",
                whose=self.name,
                hint=f"{self._python} -m pip install --upgrade polycmp",
            )

    def _ask(self, message: dict[str, Any], timeout: float) -> dict[str, Any]:
        assert self._channel is not None
        self._waiting = True
        try:
            self._channel.send(message)
            answer = self._channel.receive(timeout)
            while answer is not None and "log" in answer:
                level, name, text = answer["log"]
                logging.getLogger(name).log(level, "%s: %s", self.name, text)
                answer = self._channel.receive(timeout)
        except BrokenPipeError:
            answer = None
        except TimeoutError:
            self._kill()
            raise WorkerError(
                f"hung: no answer for {timeout:g} s, so it was killed", hint="--timeout SECONDS"
            ) from None
        self._waiting = False
        if answer is None:
            raise self._obituary(greeting="protocol" in message)
        if "error" in answer:
            raise error_from_json(answer["error"])
        return answer

    def _obituary(self, *, greeting: bool) -> PolycmpError:
        """Return an error that says how the worker died."""
        assert self._process is not None
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            status = self._process.wait()
        last = next((line for line in reversed(self._last_words) if line.strip()), "")
        if status < 0:
            name = signal.Signals(-status).name if -status in signal.valid_signals() else "unknown"
            why = "perhaps killed by the system for lack of memory" if -status == signal.SIGKILL else last
            return WorkerError(f"died with signal {-status} ({name})", why=why)
        if greeting:
            return PluginError(
                f"{self._python} cannot run polycmp",
                why=last,
                hint=f"{self._python} -m pip install polycmp and the plugin that brings {self._job.backend!r}",
            )
        return WorkerError(f"ended with exit status {status}", why=last)

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _end(self) -> None:
        """Make sure that no process and no descriptor is left."""
        if self._channel is not None:
            with suppress(OSError):
                self._channel.send({"do": "stop"})
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._kill()
                self._process.wait()
            self._process = None
        for arena in self._arenas:
            arena.close()
