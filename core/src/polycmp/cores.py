"""Number of cores that a calculation may use, where several run at the same time."""

from __future__ import annotations

import os
import threading

__all__ = ["HERE", "all_cores", "usable_cores"]

#: `sharers`: how many threads calculate at the same time as the one that asks, itself included.
HERE = threading.local()


def all_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_cores() -> int:
    """Return the number of cores for work started by this thread: its share, where other threads compute, too."""
    return max(1, all_cores() // getattr(HERE, "sharers", 1))
