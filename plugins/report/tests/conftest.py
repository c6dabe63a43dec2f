"""Lets the tests of this folder share helper modules, which pytest's importlib mode does not."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
