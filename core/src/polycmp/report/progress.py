"""Progress of what takes over a second: on a terminal or in a notebook, and in a log once a minute."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from polycmp.errors import FileError
from polycmp.terminal import echo, visible

DELAY = 1.0
#: Seconds from line to line in a log.
INTERVAL = 60.0

#: Seconds to wait for a timer that was cancelled: none of its thread is to be left behind.
_PATIENCE = 1.0


@contextmanager
def progress(*, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Give a function to tell what happens next; after a second a spinner with that text appears.

    Where standard error is neither a terminal nor a notebook's, the text is printed once a minute.

    Args:
        silent: Show nothing.
    """
    if silent:
        yield lambda _: None
        return
    shown: _Spinner | _NotebookLine | _LogLines
    if sys.stderr is not None and sys.stderr.isatty():
        shown = _Spinner()
    else:
        shown = _NotebookLine() if _in_notebook() else _LogLines()
    timer = threading.Timer(shown.delay, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield shown.tell
    finally:
        timer.cancel()
        shown.stop()
        timer.join(_PATIENCE)


class _Spinner:
    delay = DELAY

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


class _LogLines:
    """Lines on standard error that say from time to time how far it is."""

    def __init__(self) -> None:
        self.delay = INTERVAL
        self._text = "working"
        self._stopped = threading.Event()

    def start(self) -> None:
        while not self._stopped.is_set():
            with suppress(FileError, OSError, ValueError):  # standard error may be gone
                echo(f"polycmp: {visible(self._text)}", err=True)
            self._stopped.wait(self.delay)

    def tell(self, text: str) -> None:
        self._text = text

    def stop(self) -> None:
        self._stopped.set()


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which has imported IPython then."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class _NotebookLine:
    """A line below the cell of a notebook that changes in place, and is empty in the end."""

    delay = DELAY

    def __init__(self) -> None:
        self._text = "working"
        self._lock = threading.Lock()
        self._handle: Any = None
        self._stopped = False

    def start(self) -> None:
        from IPython.display import display

        with self._lock:
            if not self._stopped:
                self._handle = display(self._content(), raw=True, display_id=True)

    def tell(self, text: str) -> None:
        with self._lock:
            self._text = text
            self._show()

    def stop(self) -> None:
        with self._lock:
            self._stopped, self._text = True, ""
            self._show()

    def _show(self) -> None:
        if self._handle is not None:
            self._handle.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        return {"text/plain": f"{visible(self._text)} …" if self._text else ""}
