"""Ending a process although somebody's threads do not."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import NoReturn

#: Seconds that threads left behind may take to end by themselves.
GRACE = 1.0


def end_process(status: int) -> NoReturn:
    """End this process with an exit status.

    Python waits for all threads that are not daemons, those included that a backend has left behind. They get a short
    time; what has been printed is printed whatever they do.
    """
    if any(not thread.daemon and thread is not threading.current_thread() for thread in threading.enumerate()):
        threading.Thread(target=_end_later, args=(status,), daemon=True).start()
    sys.exit(status)


def _end_later(status: int) -> None:
    time.sleep(GRACE)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)
