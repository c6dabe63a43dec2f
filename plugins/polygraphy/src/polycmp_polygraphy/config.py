"""Settings under the names of `polygraphy.config`: none of them changes anything here."""

from __future__ import annotations

import sys

INTERNAL_CORRECTNESS_CHECKS = False
AUTOINSTALL_DEPS = False
ASK_BEFORE_INSTALL = False
INSTALL_CMD = [sys.executable, "-m", "pip", "install"]
ARRAY_SWAP_THRESHOLD_MB = -1
USE_TENSORRT_RTX = False
