"""Errors under the names of `polygraphy.exception`."""

from __future__ import annotations

from polycmp.errors import DataError as DataTypeConversionException
from polycmp.errors import PolycmpError as PolygraphyException
from polycmp.errors import PolycmpError as PolygraphyInternalException
