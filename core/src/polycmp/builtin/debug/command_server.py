"""Runs `polycmp …` commands one after the other in a process of their own, so that starting up is paid for once.

A command that crashes takes that process with it, as it would its own; the next one gets a new process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from polycmp.command import BackendCommand
from polycmp.errors import PolycmpError
from polycmp.plugins import Registry
from polycmp.process import ChildProcess, Connection, CopiedProcess


class Server:
    """A process that runs one command after the other.

    Args:
        modules: Modules that the commands will import: the process imports them while it waits for the first command.
        registry: The plugins; None if the process is to look for them itself.
        words: The command that is expected, so that its options are put together while the process waits.
    """

    def __init__(self, modules: Sequence[str], registry: Registry | None, words: Sequence[str] = ()) -> None:
        # A copy of this process knows the plugins and has imported most of what commands need. Later on there may be
        # threads of backends here, which a copy lacks although their locks are there.
        self._process: ChildProcess
        if registry is not None and sys.platform == "linux":
            self._process = CopiedProcess(partial(_serve, registry, modules, words))
        else:
            path = [entry for entry in sys.path if isinstance(entry, str)]
            self._process = ChildProcess(__name__, path=path)
            with suppress(BrokenPipeError):  # it died at once; its first command tells
                self._process.send({"modules": list(modules), "words": list(words)})

    def run(self, words: Sequence[str], output: str) -> int | None:
        """Run a command; return its exit status, or None if the process ended with it.

        Args:
            words: Words of the command line after `polycmp`.
            output: The file that takes everything it prints.
        """
        try:
            self._process.send({"words": list(words), "output": output})
            answer = self._process.receive()
        except BrokenPipeError:
            return None
        return None if answer is None else int(answer["status"])

    def close(self, *, died: bool = False) -> int:
        """End the process; return its exit status.

        Args:
            died: Whether it ended with a command, so that its own status is wanted.
        """
        if not died:
            self._process.kill()
        status = self._process.ending().status
        self._process.close()
        return status


def main(arguments: list[str]) -> None:
    """Run what the parent asks for, in a new interpreter.

    Args:
        arguments: The number of the parent process.
    """
    connection = Connection(int(arguments[0]))
    first = connection.receive()
    if first is not None:
        _serve(Registry.discover(), first["modules"], first["words"], connection)


def _serve(registry: Registry, modules: Sequence[str], words: Sequence[str], connection: Connection) -> None:
    """Run what the parent asks for until it asks no more."""
    command = next(iter(entry_points(group="console_scripts", name="polycmp"))).load()
    for name in modules:
        with suppress(ImportError):  # the command that needs it will say so
            import_module(name)
    _prepare(registry, words)
    with suppress(BrokenPipeError):
        while (asked := connection.receive()) is not None:
            status = _run(partial(command, registry), asked["words"], asked["output"])
            connection.send({"status": status})


def _prepare(registry: Registry, words: Sequence[str]) -> None:
    """Put the options of a command together."""
    commands = [registry.commands.get(" ".join(words[:count])) for count in (1, 2)]
    with suppress(PolycmpError):  # the command itself will say so
        for contribution in filter(None, commands):
            command = registry.load(contribution, contribution.spec.target)
            if isinstance(command, BackendCommand):
                command.params_of(registry)


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
