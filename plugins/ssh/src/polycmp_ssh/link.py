"""A connection to another machine, which has what it needs to run a backend as long as the connection stands."""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from polycmp.errors import BackendError, PluginError, PolycmpError, WorkerError, error_from_json
from polycmp.process import callers_environment
from polycmp_ssh import start
from polycmp_ssh.parcel import Package, pack, packages_for
from polycmp_ssh.place import Place
from polycmp_ssh.stream import Message, Stream

log: logging.Logger = logging.getLogger("polycmp.ssh")

#: Seconds until a machine that takes the connection has to have started Python.
_START_SECONDS = 60.0
_END_SECONDS = 10.0
#: Exit status of ssh where it has no connection, and of a shell that does not find a program.
_NO_CONNECTION = 255
_NOT_FOUND = 127
_OLDEST = (3, 10)
#: Characters that start files of a shell may print.
_MOST_NOISE = 1 << 20


class Link:
    """A worker on another machine.

    Args:
        place: The machine, and the interpreter there.
        distribution: The plugin that brings the backend.
        whose: The backend, for errors.

    Attributes:
        place: The machine, and the interpreter there.
        told: What the machine says of itself: version of Python, kind of processor.

    Raises:
        BackendError: The machine cannot be reached.
        PluginError: Python there is too old, or packages are missing that cannot be sent.
    """

    def __init__(self, place: Place, distribution: str, whose: str) -> None:
        self.place = place
        self._whose = whose
        self._sent: dict[Path, tuple[int | str, dict[Path, tuple[float, int]]]] = {}
        self._last_lines: deque[str] = deque(maxlen=20)
        packages = [package for package in packages_for(distribution) if package.modules]
        names = sorted({module for package in packages if not package.is_ours for module in package.modules})
        code = Path(start.__file__).read_text("utf-8") + f"\nstart(reading, {names!r})\n"
        # The text comes first over standard input: a command may not be so long.
        first = "import os; reading = os.fdopen(os.dup(0), 'rb'); exec(reading.read(int(reading.readline())))"
        try:
            self._process = subprocess.Popen(
                place.words(first), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=dict(callers_environment()),
            )  # fmt: skip
        except OSError as error:
            raise PluginError(
                "there is no ssh here", whose=whose, why=str(error), hint="apt install openssh-client"
            ) from error
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True)
        self._listener.start()
        self._reading = _Waiting(cast("IO[bytes]", self._process.stdout).fileno())
        writing = cast("BinaryIO", self._process.stdin)
        self._stream = Stream(cast("BinaryIO", self._reading), writing)
        try:
            self._reading.seconds = _START_SECONDS
            text = code.encode()
            self._write(writing, str(len(text)).encode() + b"\n" + text)
            self.told = self._hello()
            archive = pack(self._needed(packages))
            log.debug("%s: sending %d bytes to %s", whose, len(archive), place.host)
            self._write(writing, str(len(archive)).encode() + b"\n" + archive)
        except BaseException:
            self.close()
            raise

    @property
    def is_running(self) -> bool:
        """Whether the other side is there."""
        return self._process.poll() is None

    def activate(self, job: Message, model: Path, files: Mapping[str, Path], seconds: float, *, keep: bool) -> Message:
        """Send a model, unless it is there, and activate a runner for it.

        Args:
            job: The backend and how to run it.
            model: The model's file or folder.
            files: Its files by their path beside it.
            seconds: As for `ask`.
            keep: Whether it stays there for other runners; else it lies where the next one will.
        """
        stamps = {path: (path.stat().st_mtime, path.stat().st_size) for path in files.values()}
        number, known = self._sent.get(model, (len(self._sent), {})) if keep else ("part", {})
        sent = {} if known == stamps else {f"{number}/{name}": path for name, path in files.items()}
        if keep:
            self._sent[model] = number, stamps
        where = f"{number}/{model.name}"
        return self.ask({"do": "activate", "job": job, "model": where}, seconds, files=sent)[0]

    def ask(
        self,
        message: Message,
        seconds: float = 0.0,
        tensors: Mapping[str, Any] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> tuple[Message, dict[str, Any]]:
        """Send a message and return the answer with its tensors.

        Args:
            message: The message.
            seconds: Seconds to wait for the answer; 0 waits for ever.
            tensors: Arrays by name.
            files: Files by the path that they get there.

        Raises:
            PolycmpError: What failed there.
            WorkerError: There is no answer.
        """
        self._reading.seconds = seconds
        try:
            self._stream.send(message, tensors, files)
            received = self._stream.receive()
        except TimeoutError:
            self.close(0.0)
            raise WorkerError(
                f"hung: no answer from {self.place.host} for {seconds:g} s",
                whose=self._whose,
                hint="--timeout SECONDS",
            ) from None
        except (BrokenPipeError, EOFError):
            received = None
        except BaseException:
            self.close(0.0)  # what comes next is no answer to the next question
            raise
        if received is None:
            raise self._gone()
        if "error" in received[0]:
            error = error_from_json(received[0]["error"])
            error.why = error.why or f"on {self.place.host}"
            raise error
        return received

    def close(self, seconds: float = _END_SECONDS) -> None:
        """End the connection; the other side removes what it got."""
        self._end(seconds)
        cast("IO[bytes]", self._process.stdout).close()

    def _write(self, writing: BinaryIO, data: bytes) -> None:
        try:
            writing.write(data)
            writing.flush()
        except BrokenPipeError:
            raise self._gone() from None

    def _hello(self) -> Message:
        """Return what the machine says of itself."""
        noise = 0
        try:
            while (line := self._reading.readline()) != start.READY:
                noise += len(line)
                if not line or noise > _MOST_NOISE:
                    raise self._gone()
            told: Message = json.loads(self._reading.readline())
        except (TimeoutError, ValueError):
            self._process.kill()
            raise self._gone() from None
        if tuple(int(part) for part in told["python"].split(".")[:2]) < _OLDEST:
            raise PluginError(
                f"{self.place.python} on {self.place.host} is Python {told['python']}",
                whose=self._whose,
                why=f"polycmp needs Python {'.'.join(map(str, _OLDEST))} or newer",
                hint=f"-b NAME:ssh={self.place.host},python=PATH names another interpreter there",
            )
        return told

    def _needed(self, packages: list[Package]) -> list[Package]:
        """Return what has to be sent: what is ours, and what is missing there.

        Raises:
            PluginError: Something is missing that holds machine code.
        """
        missing = set(self.told["missing"])
        needed = [package for package in packages if package.is_ours or missing.intersection(package.modules)]
        compiled = [package.distribution.name for package in needed if not package.is_pure]
        if compiled:
            raise PluginError(
                f"{self.place.host} lacks {', '.join(compiled)}",
                whose=self._whose,
                why="these hold machine code, which polycmp cannot send",
                hint=self.place.command(f"{self.place.python} -m pip install {' '.join(compiled)}"),
            )
        return needed

    def _end(self, seconds: float = _END_SECONDS) -> int:
        """Let the process end, kill it where it does not in so many seconds, and return its exit status."""
        with suppress(OSError):
            cast("IO[bytes]", self._process.stdin).close()
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._listener.join(_END_SECONDS)
        return status

    def _gone(self) -> PolycmpError:
        """Return an error that says why there is no other side any more."""
        status = self._end()
        last = next((line for line in reversed(self._last_lines) if line.strip()), "")
        if status == _NO_CONNECTION:
            return BackendError(
                f"no connection to {self.place.host}", whose=self._whose, why=last, hint=self.place.command("true")
            )
        if status == _NOT_FOUND:
            return PluginError(
                f"{self.place.host} has no {self.place.python}",
                whose=self._whose,
                why=last,
                hint=f"-b NAME:ssh={self.place.host},python=PATH names the interpreter there",
            )
        return WorkerError(f"ended on {self.place.host} with exit status {status}", whose=self._whose, why=last)

    def _listen(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                text = line.decode(errors="replace").rstrip()
                self._last_lines.append(text)
                log.debug("%s: %s", self.place.host, text)


class _Waiting(RawIOBase):
    """A pipe that waits no longer than it may for what is read from it.

    Args:
        descriptor: The pipe.

    Attributes:
        seconds: Seconds without a byte after which `TimeoutError` is raised; 0 waits for ever.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self.seconds = 0.0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, memory: Any) -> int:
        """Fill memory with what is there, at least a byte; return the number of bytes, 0 at the end."""
        data = self._buffer[: len(memory)] or self._more(len(memory))
        self._buffer = self._buffer[len(data) :]
        memory[: len(data)] = data
        return len(data)

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line, whole unless the other side is gone."""
        del size
        end = time.monotonic() + self.seconds
        while b"\n" not in self._buffer:
            data = self._more(1 << 16)
            self._buffer += data
            if not data:
                break
            if self.seconds and time.monotonic() > end:
                raise TimeoutError
        line, newline, self._buffer = self._buffer.partition(b"\n")
        return line + newline

    def _more(self, size: int) -> bytes:
        if not select.select([self._descriptor], [], [], self.seconds or None)[0]:
            raise TimeoutError
        return os.read(self._descriptor, min(size, 1 << 20))
