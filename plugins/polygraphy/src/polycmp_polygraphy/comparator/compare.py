"""Compare functions under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp.comparator import CompareFunc as CompareFunc
from polycmp.comparator import CosineSimilarityCompareFunc as CosineSimilarityCompareFunc
from polycmp.comparator import IndicesCompareFunc as IndicesCompareFunc
from polycmp.comparator import L2CompareFunc as L2CompareFunc
from polycmp.comparator import PsnrCompareFunc as PsnrCompareFunc
from polycmp.comparator import SimpleCompareFunc as SimpleCompareFunc
from polycmp.comparator import SnrCompareFunc as SnrCompareFunc
