"""Number of cores that a calculation may use, where several run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["all_cores", "sharing_cores", "usable_cores"]

#: `sharers`: how many threads calculate at the same time as the one that asks, itself included.
_HERE = threading.local()


def all_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_cores() -> int:
    """Return the number of cores for work started by this thread: its share, where other threads compute, too."""
    return max(1, all_cores() // getattr(_HERE, "sharers", 1))


@contextmanager
def sharing_cores(sharers: int) -> Iterator[None]:
    """Have this thread leave cores to others for the length of a block.

    Args:
        sharers: Threads that calculate at the same time, this one included.
    """
    before = getattr(_HERE, "sharers", 1)
    _HERE.sharers = sharers
    try:
        yield
    finally:
        _HERE.sharers = before
