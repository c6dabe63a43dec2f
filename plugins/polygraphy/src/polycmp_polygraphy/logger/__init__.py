"""Logging under the names of `polygraphy.logger`."""

from __future__ import annotations

from polycmp_polygraphy.logger.logger import *
