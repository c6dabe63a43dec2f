"""How many cores a calculation may use, where several run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


def all_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_cores() -> int:
    """Return how many cores what this thread starts may use: its part of them, where other threads calculate, too."""
    return max(1, all_cores() // getattr(_here, "sharers", 1))


@contextmanager
def sharing_cores(sharers: int) -> Iterator[None]:
    """Have this thread leave cores to others for the length of a block.

    Args:
        sharers: Threads that calculate at the same time, this one included.
    """
    before = getattr(_here, "sharers", 1)
    _here.sharers = sharers
    try:
        yield
    finally:
        _here.sharers = before
