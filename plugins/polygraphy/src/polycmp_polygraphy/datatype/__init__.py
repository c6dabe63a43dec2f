"""Element types under the names of `polygraphy.datatype`."""

from __future__ import annotations

from polycmp_polygraphy.datatype.datatype import *
