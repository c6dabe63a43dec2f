"""Settings under the names of `polygraphy.config`, read from the same variables: none of them changes anything here."""

from __future__ import annotations

import os
import sys


def _is_on(name: str) -> bool:
    return os.environ.get(f"POLYGRAPHY_{name}", "0") != "0"


INTERNAL_CORRECTNESS_CHECKS = _is_on("INTERNAL_CORRECTNESS_CHECKS")
AUTOINSTALL_DEPS = _is_on("AUTOINSTALL_DEPS")
ASK_BEFORE_INSTALL = _is_on("ASK_BEFORE_INSTALL")
INSTALL_CMD = os.environ.get("POLYGRAPHY_INSTALL_CMD", f"{sys.executable} -m pip install").split()
ARRAY_SWAP_THRESHOLD_MB = int(os.environ.get("POLYGRAPHY_ARRAY_SWAP_THRESHOLD_MB", "-1"))
USE_TENSORRT_RTX = _is_on("USE_TENSORRT_RTX")
