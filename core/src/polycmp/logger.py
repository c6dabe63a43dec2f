"""Log with Polygraphy's severities: `G_LOGGER`."""

from __future__ import annotations

from polycmp.builtin.api.logger import (
    G_LOGGER,
    SEVERITIES,
    Logger,
    LogMode,
)

__all__ = [
    "G_LOGGER",
    "SEVERITIES",
    "LogMode",
    "Logger",
]
