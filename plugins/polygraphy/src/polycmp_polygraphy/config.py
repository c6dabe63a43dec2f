"""Settings under the names of `polygraphy.config`, read from the same variables: none of them changes anything here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

INTERNAL_CORRECTNESS_CHECKS: bool
AUTOINSTALL_DEPS: bool
ASK_BEFORE_INSTALL: bool
INSTALL_CMD: list[str]
ARRAY_SWAP_THRESHOLD_MB: int
USE_TENSORRT_RTX: bool


def _is_on(name: str) -> bool:
    return os.environ.get(f"POLYGRAPHY_{name}", "0") != "0"


_READERS: Mapping[str, Callable[[], object]] = {
    "INSTALL_CMD": lambda: os.environ.get("POLYGRAPHY_INSTALL_CMD", f"{sys.executable} -m pip install").split(),
    "ARRAY_SWAP_THRESHOLD_MB": lambda: int(os.environ.get("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", "-1")),
}
_SWITCHES = frozenset({"INTERNAL_CORRECTNESS_CHECKS", "AUTOINSTALL_DEPS", "ASK_BEFORE_INSTALL", "USE_TENSORRT_RTX"})


def __getattr__(name: str) -> object:
    """Read a setting when it is asked for: a program may set its variable after this module was imported."""
    if name in _SWITCHES:
        return _is_on(name)
    if name in _READERS:
        return _READERS[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
