"""Child processes that talk in lines of JSON: start one, ask it, notice that it hangs, and say how it ended.

`ChildProcess` starts an interpreter, `CopiedProcess` copies this process. Both end with this process, keep the last
lines that they write to standard error, and are talked to alike. What has no messages is started with `subprocess.run`,
and with `code_words` or `module_words` where it is Python.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Protocol

from polycmp._environment import callers_environment
from polycmp._shutdown import ENDING, abandon_threads, end_with

__all__ = [
    "ChildProcess",
    "Connection",
    "CopiedProcess",
    "DiedError",
    "Ending",
    "Say",
    "abandon_threads",
    "answer_one",
    "ask_child",
    "beside_standard",
    "callers_environment",
    "code_words",
    "end_with",
    "is_child",
    "module_words",
    "resident_memory",
]

#: Seconds that a child may take to end when it is asked to, and its last output to arrive afterwards.
_STOP_SECONDS = 5.0
_OUTPUT_SECONDS = 1.0
_LAST_STANDARD = 2
#: Bytes of one message, and of one line on standard error; messages that may wait to be read.
_LONGEST_MESSAGE = 64 << 20
_LONGEST_LINE = 1 << 16
_MOST_WAITING = 256
#: What PYTHONPATH names stays.
_WITHOUT_CURRENT_FOLDER = 'sys.path[:1] = [item for item in sys.path[:1] if item != ""]'

#: Sends an answer.
Say = Callable[[dict[str, Any]], None]


def code_words(code: str, *, python: str = "") -> list[str]:
    """Return the words that run code in an interpreter for which the current folder is no place to import from.

    Python puts that folder first for `-c` and `-m`, and a downloaded model may have a `numpy.py` or a `pip.py` beside
    it. `-P`, which prevents that, is younger than the oldest Python that a child may have; `-I` hides PYTHONPATH and
    packages of the user, too.

    Args:
        code: Statements in one line; further words are in `sys.argv[1:]`.
        python: The interpreter; by default this one.
    """
    return [python or sys.executable, "-c", f"import sys; {_WITHOUT_CURRENT_FOLDER}; {code}"]


def module_words(module: str, *, python: str = "") -> list[str]:
    """Return the words that run a module as `python -m` does, but for the current folder; see `code_words`."""
    return code_words(
        f"from runpy import run_module; run_module({module!r}, run_name='__main__', alter_sys=True)", python=python
    )


@dataclass(frozen=True)
class Ending:
    """End of a process: its exit status, and the reason.

    Attributes:
        status: Exit status; minus the number of the signal that ended it.
        last_line: The last line it wrote to standard error; empty if there is none.
        protocol_error: The reason why this process ended it; empty if it did not.
    """

    status: int
    last_line: str = ""
    protocol_error: str = ""

    def __str__(self) -> str:
        if self.status >= 0:
            return f"ended with exit status {self.status}"
        name = signal.Signals(-self.status).name if -self.status in signal.valid_signals() else "unknown"
        return f"died with signal {-self.status} ({name})"


class ChildProcess:
    """A Python process that runs `main(arguments)` of a module, which answers through a `Connection`.

    Args:
        module: The full name of the module.
        arguments: Words for its `main`, after the number of this process.
        python: The interpreter; by default this one.
        path: Folders in which the child looks for modules, instead of its interpreter's usual ones.
        environ: Environment variables of the child; by default those of this process.
        descriptors: File descriptors that it inherits.
        on_stderr: Called with each line that it writes to standard error.

    Raises:
        OSError: The interpreter cannot be started.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str] = (),
        *,
        python: str = "",
        path: Sequence[str] | None = None,
        environ: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        on_stderr: Callable[[str], None] | None = None,
    ) -> None:
        where = "" if path is None else f"sys.path[:] = {list(path)!r}; "
        code = f"{where}from {module} import main; sys.exit(main(sys.argv[1:]))"
        words = [*code_words(code, python=python), str(_parent()), *arguments]

        def start(standard: Sequence[int], _others: Sequence[int]) -> _Process:
            its_in, its_out, its_err = standard
            return subprocess.Popen(
                words, stdin=its_in, stdout=its_out, stderr=its_err, env=environ, pass_fds=tuple(descriptors)
            )

        self._connect(start, on_stderr)

    def _connect(
        self, start: Callable[[Sequence[int], Sequence[int]], _Process], on_stderr: Callable[[str], None] | None
    ) -> None:
        """Start the process with pipes for its standard streams, and threads that read what comes of them.

        Args:
            start: Starts it, given its own ends of the pipes and those of this process, which it must not keep open.
            on_stderr: Called with each line that it writes to standard error.
        """
        pipes = [[beside_standard(end) for end in os.pipe()] for _ in range(3)]
        (its_in, self._writing), (from_out, its_out), (from_err, its_err) = pipes
        descriptors = (self._writing, from_out, from_err)
        try:
            self._process = start((its_in, its_out, its_err), descriptors)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        finally:
            for descriptor in (its_in, its_out, its_err):
                os.close(descriptor)
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)  # when it is full, the child has to wait
        self._last_lines: deque[str] = deque(maxlen=20)
        self._protocol_error = ""
        self._reader = threading.Thread(target=self._read, args=(from_out,), daemon=True)
        self._listener = threading.Thread(target=self._listen, args=(from_err, on_stderr), daemon=True)
        self._reader.start()
        self._listener.start()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message to the child, as a line of JSON.

        Raises:
            BrokenPipeError: The child is gone.
        """
        _write(self._writing, message)

    def receive(self, timeout: float = 0.0) -> dict[str, Any] | None:
        """Return the next message; None if the child is gone.

        Args:
            timeout: Seconds to wait; 0 waits for ever.

        Raises:
            TimeoutError: No message came in time, whatever else the child wrote.
        """
        end = time.monotonic() + timeout
        try:
            while (line := self._lines.get(timeout=timeout or None)) is not None:
                message = _parse(line)
                if message is not None:
                    return message
                if timeout:
                    timeout = end - time.monotonic()
                    if timeout <= 0:
                        raise TimeoutError
        except queue.Empty:
            raise TimeoutError from None
        self._lines.put(None)  # for the next call
        return None

    def ending(self) -> Ending:
        """Wait for the child to end and return its `Ending`; a child that closed its output and continues is killed."""
        status = self._wait(_STOP_SECONDS)
        self._listener.join(_OUTPUT_SECONDS)
        last = next((line for line in reversed(self._last_lines) if line.strip()), "")
        return Ending(status, last, self._protocol_error)

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def close(self, grace: float = _STOP_SECONDS) -> None:
        """Make sure that no process, no descriptor and no thread is left.

        Args:
            grace: Seconds to wait for it to notice that its connection is closed.
        """
        os.close(self._writing)
        self._wait(grace)
        for thread in (self._reader, self._listener):
            thread.join(_OUTPUT_SECONDS)  # what the child started may hold its streams

    def _wait(self, seconds: float) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb") as stream:  # a thread, since not every platform waits for a pipe with a limit
            while line := stream.readline(_LONGEST_MESSAGE):
                if len(line) == _LONGEST_MESSAGE and not line.endswith(b"\n"):
                    self._protocol_error = f"it wrote a line of more than {_LONGEST_MESSAGE >> 20} MiB"
                    self.kill()
                    break
                self._lines.put(line)
        self._lines.put(None)

    def _listen(self, descriptor: int, on_line: Callable[[str], None] | None) -> None:
        with open(descriptor, "rb") as stream:
            while line := stream.readline(_LONGEST_LINE):
                text = line.decode(errors="replace").rstrip()
                self._last_lines.append(text)
                if on_line is not None:
                    on_line(text)


class CopiedProcess(ChildProcess):
    """A copy of this process that calls a function with its `Connection`.

    Nothing is pickled: the copy has all objects as they are at that moment. It has none of the threads, and whatever
    one of them had locked stays locked there. On systems that make copies of processes (`can_copy`).

    Args:
        answer: Called in the copy, which ends when it returns.
        on_stderr: Called with each line that the copy writes to standard error, or prints.
    """

    def __init__(self, answer: Callable[[Connection], object], on_stderr: Callable[[str], None] | None = None) -> None:
        self._connect(partial(_Copy, answer), on_stderr)

    @staticmethod
    def can_copy() -> bool:
        """Return whether this system makes copies of processes."""
        return hasattr(os, "fork")


class _Process(Protocol):
    """The part of `subprocess.Popen` that is used here."""

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class _Copy:
    """A copy of this process, with the methods of `subprocess.Popen`.

    `multiprocessing` is not used, since its processes either may have no children, or keep this process from ending.
    """

    def __init__(self, answer: Callable[[Connection], object], standard: Sequence[int], others: Sequence[int]) -> None:
        self._status: int | None = None
        parent = _parent()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()  # or the copy would print it, too
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # told wherever a library has started threads
            self._pid = os.fork()
        if not self._pid:
            _answer_as_copy(answer, parent, standard, others)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        if self._status is None:
            try:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # somebody else asked for it, or nobody is told of children here
                self._status = 0
            else:
                self._status = os.waitstatus_to_exitcode(status) if ended else None
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for it to end and return its exit status.

        Raises:
            subprocess.TimeoutExpired: It did not end in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("a copy of this process", timeout or 0.0)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return status

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)


def _answer_as_copy(
    answer: Callable[[Connection], object], parent: int, standard: Sequence[int], others: Sequence[int]
) -> NoReturn:
    """Call a function with the connection to the parent, and end this process, which is the copy."""
    status = 1
    try:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)  # what the parent does then is the parent's
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        for descriptor in (*standard, *others):
            os.close(descriptor)
        # A notebook has other streams there, which lead to threads that the copy lacks.
        sys.stdout, sys.stderr = sys.__stdout__ or sys.stdout, sys.__stderr__ or sys.stderr
        answer(Connection(parent))
        status = 0
    except BrokenPipeError:  # the parent is gone
        pass
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 - as at the end of every program
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(status)


def _parent() -> int:
    """Return the number by which a child is told to end with this process; 0 in a thread, with which it would end."""
    return os.getpid() if threading.current_thread() is threading.main_thread() else 0


class Connection:
    """The child's end, made before anything else is imported there.

    It takes over the standard streams: what a library reads is empty, and what it prints goes to standard error, since
    standard output is for messages. The process ends when its parent does, however that ends, and not by Ctrl-C, which
    reaches the whole group: the parent ends its children.

    Args:
        parent: The number of the parent process; 0 if the end of its messages alone tells that it is gone.
    """

    is_made: bool = False

    def __init__(self, parent: int) -> None:
        Connection.is_made = True
        if parent:
            end_with(parent)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._reading = os.fdopen(os.dup(0), "rb")
        self._writing = os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        os.write(self._writing, b"\n")  # ends what was printed before

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message to the parent, as a line of JSON.

        Raises:
            BrokenPipeError: The parent is gone.
        """
        _write(self._writing, message)

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None if the parent wants no more."""
        line = self._reading.readline()
        return _parse(line) if line else None


class DiedError(Exception):
    """A child ended, or was ended, before it was done.

    Attributes:
        step: The step that it had reached, in words.
        how: The way in which it ended, in words.
    """

    def __init__(self, step: str, how: str) -> None:
        super().__init__(f"{step}: {how}")
        self.step = step
        self.how = how


def ask_child(
    module: str, request: Mapping[str, Any], environ: Mapping[str, str], timeout: float
) -> Iterator[dict[str, Any]]:
    """Start a child for one request and yield its answers; it sees the modules that this process sees.

    Args:
        module: The full name of the module whose `main` calls `answer_one`.
        request: The request, as plain values.
        environ: Environment variables of the child.
        timeout: Seconds to wait for each answer.

    Raises:
        DiedError: The child ended without being done, or was silent for too long.
    """
    step = "starting Python"
    path = [entry for entry in sys.path if isinstance(entry, str)]
    child = ChildProcess(module, path=path, environ=environ)
    try:
        with suppress(BrokenPipeError):  # it died at once; reading its answer tells
            child.send(request)
        while True:
            try:
                message = child.receive(timeout)
            except TimeoutError:
                raise DiedError(step, f"did not answer for {timeout:g} s and was ended") from None
            if message is None:
                ending = child.ending()
                last = f": {ending.last_line[:200]}" if ending.status >= 0 and ending.last_line else ""
                raise DiedError(step, f"{ending}{last}")
            if "done" in message:
                return
            step = message.get("step", step)
            yield message
    finally:
        child.kill()
        child.close()


def answer_one(parent: int, answer: Callable[[dict[str, Any], Say], None]) -> None:
    """Answer the request of `ask_child` and end this process, which is the child.

    Args:
        parent: The number of the parent process.
        answer: Answers a request through the function that it is given; with `step` it says what it does next.
    """
    connection = Connection(parent)
    request = connection.receive()
    if request is None:
        return
    answer(request, connection.send)
    connection.send({"done": True})
    # Libraries that were only looked at may hang or crash while they are unloaded; that says nothing of them.
    os._exit(0)


def is_child() -> bool:
    """Return whether this process is a child that was started to answer another."""
    return Connection.is_made


def beside_standard(descriptor: int) -> int:
    """Return a descriptor above those of the standard streams, which are given out again where they were closed."""
    low = []
    while descriptor <= _LAST_STANDARD:
        low.append(descriptor)
        descriptor = os.dup(descriptor)
    for each in low:
        os.close(each)
    return descriptor


def _write(descriptor: int, message: Mapping[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return a message; None for what was printed while the interpreter started."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def resident_memory() -> int:
    """Return the bytes of memory that this process takes now, 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0
