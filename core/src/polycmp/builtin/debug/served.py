"""Runs `polycmp …` commands one after the other in a process of their own, so that starting up is paid for once.

A command that crashes takes that process with it, as it would its own; the next one gets a new process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from multiprocessing.connection import Connection
from typing import Any

from polycmp.command import BackendCommand
from polycmp.errors import PolycmpError
from polycmp.plugins import Registry


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
        is_copy = registry is not None and sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if is_copy else "spawn")
        self._ours, theirs = multiprocessing.Pipe()
        given = (registry, self._ours) if is_copy else (None, None)
        self._process = context.Process(target=_serve, args=(theirs, modules, words, *given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's threads: they are made for such copies
            self._process.start()
        theirs.close()

    def run(self, words: Sequence[str], output: str) -> int | None:
        """Run a command; return its exit status, or None if the process ended with it.

        Args:
            words: Words of the command line after `polycmp`.
            output: The file that takes everything it prints.
        """
        try:
            self._ours.send((list(words), output))
            return int(self._ours.recv())
        except (EOFError, ConnectionError):
            return None

    def close(self) -> int:
        """End the process; return its exit status, which is that of a crash if there was one."""
        crashed = self._ours.closed or self._gone()
        if not crashed:
            self._process.kill()
        self._ours.close()
        self._process.join()
        return self._process.exitcode or 0

    def _gone(self) -> bool:
        """Return whether the process has ended by itself: its end of the pipe is closed then."""
        try:
            return self._ours.poll() and not self._ours.recv_bytes()
        except (EOFError, ConnectionError):
            return True


def _serve(
    connection: Connection,
    modules: Sequence[str],
    words: Sequence[str],
    registry: Registry | None,
    parents_end: Connection | None,
) -> None:
    """Run what the parent asks for until it asks no more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if parents_end is not None:
        parents_end.close()  # or it would go unnoticed that the parent is gone
    # A program that calls polycmp may have put other streams there; `_run` redirects descriptors.
    sys.stdout, sys.stderr = sys.__stdout__ or sys.stdout, sys.__stderr__ or sys.stderr
    command = next(iter(entry_points(group="console_scripts", name="polycmp"))).load()
    for name in modules:
        with suppress(ImportError):  # the command that needs it will say so
            import_module(name)
    known = Registry.discover() if registry is None else registry
    _prepare(known, words)
    with suppress(EOFError, ConnectionError):
        while True:
            words, output = connection.recv()
            connection.send(_run(partial(command, known), words, output))


def _prepare(registry: Registry, words: Sequence[str]) -> None:
    """Put the options of a command together."""
    found = [registry.commands.get(" ".join(words[:count])) for count in (1, 2)]
    with suppress(PolycmpError):  # the command itself will say so
        for contribution in filter(None, found):
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
