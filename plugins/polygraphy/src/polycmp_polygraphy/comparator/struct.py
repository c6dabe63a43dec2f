"""Results under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp.comparator import AccuracyResult as AccuracyResult
from polycmp.comparator import AccuracyResults as AccuracyResults
from polycmp.comparator import IterationResult as IterationResult
from polycmp.comparator import RunResults as RunResults
from polycmp.results import LazyArray as LazyArray
