"""The process of a case: `polycmp`, which ends when its parent ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import distribution
from typing import cast

#: `prctl` of Linux: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run the command line behind the parent's process number."""
    _end_with(int(sys.argv.pop(1)))
    sys.argv[0] = "polycmp"
    scripts = distribution("polycmp").entry_points.select(group="console_scripts", name="polycmp")
    cast(Callable[[], None], next(iter(scripts)).load())()


def _end_with(parent: int) -> None:
    """Have the system end this process when its parent has ended, however that came about."""
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this was said
        os._exit(128 + signal.SIGKILL)
