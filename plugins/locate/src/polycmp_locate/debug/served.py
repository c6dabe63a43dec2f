"""Runs `polycmp …` commands one after the other in a process of their own, so that starting up is paid for once.

A command that crashes takes this process with it, as it would its own; the next one gets a new process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from polycmp.process import Connection


def main(arguments: Sequence[str]) -> int:
    """Run what the parent asks for until it asks no more.

    Args:
        arguments: The number of the parent process, and modules that the commands will need.
    """
    connection = Connection(int(arguments[0]))
    for name in arguments[1:]:
        with suppress(ImportError):  # the command that needs it will say so
            import_module(name)
    command = next(iter(entry_points(group="console_scripts", name="polycmp"))).load()
    while (message := connection.receive()) is not None:
        connection.send({"status": _run(command, message["words"], message["output"])})
    return 0


def _run(command: Callable[[], Any], words: Sequence[str], output: str) -> int:
    """Run one command line with everything that it prints in a file; return its exit status."""
    kept = os.dup(1), os.dup(2)
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1), os.dup2(descriptor, 2)
    os.close(descriptor)
    sys.argv = ["polycmp", *words]
    try:
        command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        for number, saved in enumerate(kept, start=1):
            os.dup2(saved, number)
            os.close(saved)
    return 0
