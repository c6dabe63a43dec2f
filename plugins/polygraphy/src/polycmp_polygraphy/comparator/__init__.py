"""Comparing under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp_polygraphy.comparator.comparator import *
from polycmp_polygraphy.comparator.compare import *
from polycmp_polygraphy.comparator.data_loader import *
from polycmp_polygraphy.comparator.postprocess import *
from polycmp_polygraphy.comparator.struct import *
