"""The plugins that a comparison uses unless the user chooses others."""

from __future__ import annotations

DEFAULT_COMPARE = "simple"
DEFAULT_DATA_LOADER = "random"
DEFAULT_TOLERANCE = "auto"
