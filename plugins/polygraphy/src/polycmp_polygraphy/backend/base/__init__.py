"""Bases of loaders and runners under the names of `polygraphy.backend.base`."""

from __future__ import annotations

from polycmp_polygraphy.backend.base.loader import *
from polycmp_polygraphy.backend.base.runner import *
