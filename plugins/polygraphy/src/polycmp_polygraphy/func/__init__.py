"""Functions that become loaders, under the names of `polygraphy.func`."""

from __future__ import annotations

from polycmp_polygraphy.func.func import *
