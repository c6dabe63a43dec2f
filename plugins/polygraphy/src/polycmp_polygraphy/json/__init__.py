"""JSON under the names of `polygraphy.json`."""

from __future__ import annotations

from polycmp_polygraphy.json.serde import *
