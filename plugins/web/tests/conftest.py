"""The tests' own module."""

from __future__ import annotations

import sys
from pathlib import Path

from engine_models import model  # noqa: F401  (a fixture)

sys.path.insert(0, str(Path(__file__).parent))
