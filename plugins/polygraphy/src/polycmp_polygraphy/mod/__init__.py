"""Importing under the names of `polygraphy.mod`."""

from __future__ import annotations

from polycmp_polygraphy.mod.exporter import *
from polycmp_polygraphy.mod.importer import *
from polycmp_polygraphy.mod.util import *
