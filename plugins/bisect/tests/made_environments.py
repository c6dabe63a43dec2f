"""Environments in the cache that hold nothing but some bytes."""

from __future__ import annotations

import os


def make(cache, name, megabytes, *, age=0):
    """Make an environment that was used so many seconds ago."""
    with cache.making(name) as folder:
        folder.mkdir()
        (folder / "runtime").write_bytes(bytes(megabytes << 20))
    marker = cache.folder / name / "complete.json"
    used = marker.stat().st_mtime - age
    os.utime(marker, (used, used))
