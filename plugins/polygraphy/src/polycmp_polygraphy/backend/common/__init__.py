"""Loaders of files under the names of `polygraphy.backend.common`."""

from __future__ import annotations

from polycmp_polygraphy.backend.common.loader import *
