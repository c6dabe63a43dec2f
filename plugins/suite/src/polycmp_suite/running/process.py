"""A process that runs cases: a session of its own, so that everything that a case starts can be ended with it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from polycmp.process import code_words
from polycmp_suite.spec import Ended, Job

#: File of a case's messages, in its output folder.
LOG = "log.txt"
#: Seconds between asking a process to end and ending it.
GRACE = 4.0
_ONE_CASE = "from polycmp_suite.running.child import main; main()"
_ONE_AFTER_ANOTHER = "from polycmp_suite.running.child import serve; serve()"
_CHUNK = 1 << 16


class CaseProcess:
    """A case that runs, and the process for it, which runs a further one afterwards if both may share it.

    Args:
        job: The job to run.
        environment: Environment variables to set.
        where: The machine, for readers of the events.
        devices: The GPUs that it is given.

    Attributes:
        job: The job that runs.
        devices: The GPUs that it was given, for its owner to take back.
        is_reusable: Whether the job has ended and the process can be given another one.
        has_died: Whether the process ended by itself in the middle of a job that shares it, so that what the job is
            to blame for is not known.
    """

    def __init__(
        self, job: Job, environment: Mapping[str, str] | None = None, where: str = "", devices: tuple[str, ...] = ()
    ) -> None:
        self.job, self.devices, self._where = job, devices, where
        self.is_reusable = self.has_died = False
        self._stopped = ""
        self._stop_time = 0.0
        self._exit_state: tuple[int, Any] | None = None
        self._begun = time.monotonic()
        self._channel: socket.socket | None = None
        child_channel: socket.socket | None = None
        if job.shares_process:
            self._channel, child_channel = socket.socketpair()
        words = code_words(_ONE_AFTER_ANOTHER if child_channel else _ONE_CASE)
        with (Path(job.output) / LOG).open("wb") as log:
            self._process = subprocess.Popen(
                [*words, str(os.getpid()), *([str(child_channel.fileno())] if child_channel else job.words)],
                cwd=job.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=_environment(environment or {}),
                pass_fds=(child_channel.fileno(),) if child_channel else (),
            )
        self._descriptor = _watch(self._process.pid)
        if child_channel:
            child_channel.close()
            self.begin(job)

    def begin(self, job: Job) -> None:
        """Send the idle process a job that may share it."""
        assert self._channel is not None
        self.job, self.is_reusable, self._begun = job, False, time.monotonic()
        request = {"words": job.words, "folder": job.folder, "log": str(Path(job.output) / LOG)}
        with suppress(OSError):  # it has died meanwhile, as looking at it tells
            self._channel.sendall(json.dumps(request).encode() + b"\n")

    @property
    def descriptors(self) -> Iterator[int]:
        """Descriptors that become readable when there is something to look at; -1 where the system has none."""
        yield self._descriptor
        if self._channel is not None:
            yield self._channel.fileno()

    @property
    def seconds(self) -> float:
        """The duration so far, in seconds."""
        return time.monotonic() - self._begun

    def look(self) -> Ended | None:
        """Enforce the limits; return how the job ended, if it has."""
        if (ended := self._answered()) is not None:
            return ended
        if self._ended():
            self.has_died = self._channel is not None and not self._stopped
            return self._reap()
        if self._stopped:
            if time.monotonic() - self._stop_time > GRACE:
                self._signal(signal.SIGKILL)
        elif self.job.timeout and self.seconds > self.job.timeout:
            self.stop(f"it took longer than {self.job.timeout:g} s")
        elif self.job.memory and (used := memory_of_session(self._process.pid)) > self.job.memory:
            self._stopped = f"it took {used / 2**20:.0f} MiB, more than the {self.job.memory / 2**20:.0f} MiB it may"
            self._signal(signal.SIGKILL)  # before the machine runs out of it
        return None

    @property
    def due(self) -> float:
        """Seconds until the next look, if the process has not ended."""
        if self._stopped:
            return max(0.0, GRACE - (time.monotonic() - self._stop_time))
        rest = self.job.timeout - self.seconds if self.job.timeout else 60.0
        return max(0.0, min(rest, 0.2 if self.job.memory else 60.0))

    def stop(self, why: str) -> None:
        """Ask the process to end; `look` kills it after a while."""
        if not self._stopped:
            self._stopped, self._stop_time = why, time.monotonic()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and everything that it started."""
        self._signal(signal.SIGKILL)
        if self._process.returncode is None:
            self._reap()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _answered(self) -> Ended | None:
        """Return the end of a job whose process stays; a process that cannot be used again is killed."""
        if self._channel is None:
            return None
        try:
            received = self._channel.recv(_CHUNK, socket.MSG_DONTWAIT)
        except OSError:  # nothing has come yet
            return None
        if not received:
            return None
        answer = json.loads(received)
        ended = Ended(self.job, answer["status"], self.seconds, answer["memory"], self._stopped, self._where)
        self.is_reusable = answer["reusable"] and not self._stopped
        if not self.is_reusable:
            self.kill()
        return ended

    def _ended(self) -> bool:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            self._exit_state = (status, usage) if pid else None
            return pid != 0
        # Not reaped yet, so that its number stays its own until everything of its session is ended.
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _reap(self) -> Ended:
        seconds = self.seconds
        self._signal(signal.SIGKILL)  # all processes that it has left behind
        status, usage = self._exit_state or os.wait4(self._process.pid, 0)[1:]
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        unit = 1 if sys.platform == "darwin" else 1024
        return Ended(self.job, code, seconds, usage.ru_maxrss * unit, self._stopped, self._where)


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a case. What CI systems read is written by the suite, once, and not by its cases."""
    inherited = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
    return {**inherited, "PYTHONUNBUFFERED": "1", "COLUMNS": "120", **more}


def _watch(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends; -1 where the system has none."""
    with suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return -1


def memory_of_session(session: int) -> int:
    """Return the bytes of memory that the processes of a session hold together; 0 where that cannot be known."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total
