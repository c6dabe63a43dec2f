"""Logging under the names of `polygraphy.logger`."""

from __future__ import annotations

from polycmp.logger import G_LOGGER as G_LOGGER
from polycmp.logger import Logger as Logger
from polycmp.logger import LogMode as LogMode
