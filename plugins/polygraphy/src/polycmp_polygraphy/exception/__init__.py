"""Errors under the names of `polygraphy.exception`."""

from __future__ import annotations

from polycmp_polygraphy.exception.exception import *
