"""Holding back log messages that say nothing new: of parts of a model, of trials that may fail."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from polycmp.messages import ROOT

_here = threading.local()


@contextmanager
def only_errors(*, unless: bool = False, of_thread: bool = False) -> Iterator[None]:
    """Show nothing below an error for the length of a block, except to those who asked for more than usual.

    Args:
        unless: Show everything all the same.
        of_thread: Hold back only what this thread logs.
    """
    root = logging.getLogger(ROOT)
    before, quiet = root.level, getattr(_here, "is_quiet", False)
    if not (unless or quiet) and root.getEffectiveLevel() >= logging.INFO:
        if of_thread:
            _ask_threads()
            _here.is_quiet = True
        else:
            root.setLevel(max(logging.ERROR, root.getEffectiveLevel()))
    try:
        yield
    finally:
        if not of_thread:
            root.setLevel(before)
        _here.is_quiet = quiet


def _ask_threads() -> None:
    """Have all handlers that get our records ask whether the thread that logs one wants errors only."""
    known = [each for name, each in list(logging.root.manager.loggerDict.items()) if _is_ours(name)]
    reached = [handler for each in (logging.root, *known) for handler in getattr(each, "handlers", ())]
    for handler in filter(None, (*reached, logging.lastResort)):
        handler.addFilter(_is_wanted)


def _is_wanted(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or not (getattr(_here, "is_quiet", False) and _is_ours(record.name))


def _is_ours(name: str) -> bool:
    return name == ROOT or name.startswith(f"{ROOT}.")
