"""CPU references of plugins under the names of `polygraphy.backend.pluginref`."""

from __future__ import annotations

from polycmp_polygraphy.backend.pluginref.runner import *
