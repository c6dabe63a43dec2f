"""Holding back log messages that say nothing new: of parts of a model, of trials that may fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from polycmp.messages import ROOT


@contextmanager
def only_errors(*, unless: bool = False, of_thread: bool = False) -> Iterator[None]:
    """Show nothing below an error for the length of a block, except to those who asked for more than usual.

    Args:
        unless: Show everything all the same.
        of_thread: Hold back only what this thread logs.
    """
    root = logging.getLogger(ROOT)
    if unless or _threads.is_quiet or root.getEffectiveLevel() < logging.INFO:
        yield
    elif of_thread:
        with _threads.held_back():
            yield
    else:
        before = root.level
        root.setLevel(max(logging.ERROR, root.getEffectiveLevel()))
        try:
            yield
        finally:
            root.setLevel(before)


class _Threads(logging.Filter):
    """Refuses what some threads log below an error; polycmp's loggers have it only while there are such threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._quiet: set[int] = set()
        self._filtered: set[logging.Logger] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether this thread is one of them."""
        return threading.get_ident() in self._quiet

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown; it is looked at in the thread that logs it."""
        return record.levelno >= logging.ERROR or not self.is_quiet

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Make this thread one of them for the length of a block."""
        with self._lock:
            self._quiet.add(threading.get_ident())
            # A record passes the filters of the logger that it was given to, not those of the loggers above it.
            for logger in {logging.getLogger(name) for name in _names()} - self._filtered:
                logger.addFilter(self)
                self._filtered.add(logger)
        try:
            yield
        finally:
            with self._lock:
                self._quiet.remove(threading.get_ident())
                while not self._quiet and self._filtered:
                    self._filtered.pop().removeFilter(self)


def _names() -> list[str]:
    return [name for name in list(logging.root.manager.loggerDict) if name == ROOT or name.startswith(f"{ROOT}.")]


_threads = _Threads()
