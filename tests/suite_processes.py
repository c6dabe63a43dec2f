"""Processes that tests of suites wait for."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def wait_for(what, seconds: float = 60.0):
    """Return what is true of a call at last."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def processes_in(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            state = (place.parent / "stat").read_text().rpartition(")")[2].split()[0]
            if place.readlink() == folder and state != "Z":
                found.append(int(place.parent.name))
    return found


def working_below(folder: Path) -> list[Path]:
    """Return the folders below this one in which processes work, there or removed."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if str(place.readlink()).startswith(f"{folder}/"):
                found.append(place.readlink())
    return found
