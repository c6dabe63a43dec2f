"""Progress on standard error: for what takes over a second, on a terminal, and never in a log."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DELAY = 1.0


@contextmanager
def progress(*, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Give a function to tell what happens next; after a second a spinner with that text appears.

    Args:
        silent: Show nothing. Nothing is shown either where standard error is no terminal.
    """
    if silent or not sys.stderr.isatty():
        yield lambda _: None
        return
    shown = _Spinner()
    timer = threading.Timer(DELAY, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield shown.tell
    finally:
        timer.cancel()
        shown.stop()


class _Spinner:
    def __init__(self) -> None:
        self._text = "working"
        self._lock = threading.Lock()
        self._status: object = None
        self._stopped = False

    def start(self) -> None:
        from polycmp.report.screen import cell, make_console

        with self._lock:
            if not self._stopped:
                status = make_console(stream=sys.stderr).status(cell(self._text))
                status.start()
                self._status = status

    def tell(self, text: str) -> None:
        from rich.status import Status

        from polycmp.report.screen import cell

        with self._lock:
            self._text = text
            if isinstance(self._status, Status):
                self._status.update(cell(text))

    def stop(self) -> None:
        from rich.status import Status

        with self._lock:
            self._stopped = True
            if isinstance(self._status, Status):
                self._status.stop()
