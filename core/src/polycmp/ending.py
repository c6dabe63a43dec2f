"""Ending a process although somebody's threads do not."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress

#: Seconds that threads left behind may take to end by themselves.
GRACE = 1.0


def abandon_threads(status: int) -> None:
    """Have this process, which is about to exit, not wait for threads that a backend has left behind.

    Python waits for all threads that are not daemons. Here they get a short time; what has been printed is printed
    whatever they do.

    Args:
        status: The exit status, if the threads do not end by themselves.
    """
    here = threading.current_thread()
    if any(not thread.daemon and thread is not here for thread in threading.enumerate()):
        threading.Thread(target=_end_later, args=(status,), daemon=True).start()


def _end_later(status: int) -> None:
    time.sleep(GRACE)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)
