"""The process of a case: `polycmp`, for one case or for one after another; it ends when its parent ends."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polycmp.process import end_with, resident_memory

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Bytes beyond which a process is not used for a further case. A choice: a new one takes half a second, and what a
#: runtime keeps of a large model would be missing to the cases beside it.
MOST_KEPT = 1 << 30


def main() -> None:
    """Run the command line that follows the parent's process number."""
    end_with(int(sys.argv.pop(1)))
    sys.argv[0] = "polycmp"
    _polycmp()()


def serve() -> None:
    """Run one command line after another: after the parent's process number follows the socket that they come by."""
    from polycmp.plugins import Registry

    parent, descriptor = map(int, sys.argv[1:])
    end_with(parent)
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    registry = Registry.discover()
    with channel, channel.makefile("rb") as requests:
        for line in requests:
            answer = _carry_out(json.loads(line), registry)
            channel.sendall(json.dumps(answer).encode() + b"\n")


def _polycmp() -> Callable[..., None]:
    """Return the entry point of the command `polycmp`, which ends with `SystemExit`."""
    scripts = distribution("polycmp").entry_points.select(group="console_scripts", name="polycmp")
    return cast(Callable[..., None], next(iter(scripts)).load())


def _carry_out(request: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Run a command line with its messages in a file; say how it ended, and whether nothing is left of it here."""
    import resource  # which not every system has

    environment, path = dict(os.environ), list(sys.path)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
    os.chdir(request["folder"])
    sys.argv[:] = ["polycmp", *request["words"]]
    is_counted = _forget_peak()
    status = 0
    try:
        _polycmp()(registry)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, children) * 1024 if is_counted else 0
    is_alone = not children and not _has_children() and threading.active_count() == 1
    return {"status": status, "memory": peak, "reusable": is_alone and resident_memory() <= MOST_KEPT}


def _forget_peak() -> bool:
    """Reset the system's count of this process's peak memory; return whether it was reset."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
