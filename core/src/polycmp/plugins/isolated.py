"""Look at plugins in another process, which may hang or die without harm to this one."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import IO, Any

from polycmp.plugins.discovery import Candidate, discover
from polycmp.plugins.records import PluginRecord
from polycmp.plugins.rows import row_of

LIST_TIMEOUT = 10.0
"""Seconds that one light module may take; a proper one takes milliseconds."""
CHECK_TIMEOUT = 120.0
"""Seconds that one heavy import may take; the first import of a GPU library may need tens."""


class _DiedError(Exception):
    """The child ended, or was ended, during a step.

    Attributes:
        step: What it was doing.
        how: What became of it.
    """

    def __init__(self, step: str, how: str) -> None:
        super().__init__(f"{step}: {how}")
        self.step = step
        self.how = how


def list_plugins(
    environ: Mapping[str, str] = os.environ, *, reserved: Iterable[str] = (), timeout: float = LIST_TIMEOUT
) -> list[dict[str, Any]]:
    """Return the table of plugins, one row each, without importing any of them here.

    Args:
        environ: Environment variables, `POLYCMP_PLUGINS` among them.
        reserved: The core's own options, which no alias can have.
        timeout: Seconds that one light module may take.

    Returns:
        Rows with the keys `name`, `package`, `version`, `module`, `state`, `reason`, `provides` and `notes`; a plugin
        that ends the process or hangs is `"broken"`, and the others are looked at all the same.
    """
    request = {"task": "list", "environ": dict(environ), "reserved": list(reserved)}
    candidates = discover(environ)
    rows: dict[str, dict[str, Any]] = {}
    dead: dict[str, dict[str, Any]] = {}
    while True:
        try:
            for message in _converse({**request, "skip": list(dead)}, timeout):
                if "row" in message:
                    rows[_key(message["row"])] = message["row"]
            break
        except _DiedError as death:
            culprits = [item for item in candidates if item.record.name == death.step and death.step not in dead]
            if not culprits:  # not the fault of any plugin: say so in each row that is still open
                culprits = [item for item in candidates if item.record.name not in dead]
            for item in culprits:
                reason = f"while it was imported, the process {death.how}"
                dead[item.record.name] = row_of(replace(item.record, state="broken", reason=reason))
    found = {**rows, **{_key(row): row for row in dead.values()}}
    return [found[key] for item in candidates if (key := _key_of(item)) in found]


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['name']} {row['package']} {row['module']}"


def _key_of(item: Candidate) -> str:
    return f"{item.record.name} {item.record.distribution} {item.record.module}"


@dataclass(frozen=True)
class CheckResult:
    """What `check_plugin` found.

    Attributes:
        name: The plugin.
        loaded: What could be imported, one line each.
        problems: What is wrong, one line each; empty if all is well.
        hints: Commands that would help.
    """

    name: str
    loaded: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def check_plugin(record: PluginRecord, environ: Mapping[str, str], *, timeout: float = CHECK_TIMEOUT) -> CheckResult:
    """Import everything that a plugin names, in a process of its own, and return what is wrong.

    Args:
        record: The plugin, as discovered; one that is unusable by its metadata is not imported.
        environ: Environment variables.
        timeout: Seconds that one import may take.
    """
    if record.state != "ok":
        return CheckResult(record.name, problems=(f"{record.state}: {record.reason}",))
    request = {"task": "check", "environ": dict(environ), "reserved": [], "name": record.name}
    answers: dict[str, list[str]] = {"good": [], "problem": [], "hint": []}
    try:
        for message in _converse(request, timeout):
            for key, lines in answers.items():
                if key in message:
                    lines.append(message[key])
    except _DiedError as death:
        answers["problem"].append(f"{death.step}: the process {death.how}")
    hints = tuple(dict.fromkeys(hint for hint in answers["hint"] if not hint.startswith("polycmp plugins check")))
    return CheckResult(record.name, tuple(answers["good"]), tuple(answers["problem"]), hints)


def _converse(request: dict[str, Any], timeout: float) -> Iterator[dict[str, Any]]:
    """Send a request to a new child and yield its messages, until it is done.

    Raises:
        _DiedError: The child ended without being done, or was silent for too long.
    """
    step = "starting Python"
    with tempfile.TemporaryFile() as noise:
        process = _start(request, noise)
        try:
            lines = _lines(process)
            while True:
                try:
                    line = lines.get(timeout=timeout)
                except queue.Empty:
                    raise _DiedError(step, f"did not answer for {timeout:g} s and was ended") from None
                if line is None:
                    raise _DiedError(step, _fate(process, noise))
                message = _parse(line)
                if "done" in message:
                    return
                step = message.get("step", step)
                yield message
        finally:
            process.kill()
            process.wait()


def _start(request: dict[str, Any], noise: IO[bytes]) -> subprocess.Popen[bytes]:
    # The child must see exactly the modules that this process sees; its own first entry would be the current folder.
    path = [entry for entry in sys.path if isinstance(entry, str)]
    code = f"import sys; sys.path[:] = {path!r}; from polycmp.plugins.child import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=noise,
        env=request["environ"],
    )
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            stdin.write(json.dumps(request).encode() + b"\n")
    except BrokenPipeError:
        pass  # it died at once; reading its answer tells
    return process


def _lines(process: subprocess.Popen[bytes]) -> queue.Queue[bytes | None]:
    """Return a queue of the child's lines, then None: reading a pipe with a time limit on every platform."""
    lines: queue.Queue[bytes | None] = queue.Queue()
    assert process.stdout is not None
    stdout = process.stdout

    def read() -> None:
        with stdout:
            for line in stdout:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}  # written past our redirection by native code
    return message if isinstance(message, dict) else {}


def _fate(process: subprocess.Popen[bytes], noise: IO[bytes]) -> str:
    status = process.wait()
    if status < 0:
        try:
            name = f" ({signal.Signals(-status).name})"
        except ValueError:
            name = ""
        return f"died with signal {-status}{name}"
    noise.seek(0)
    last = noise.read().decode(errors="replace").strip().rpartition("\n")[2]
    return f"ended with status {status}" + (f": {last[:200]}" if last else "")
