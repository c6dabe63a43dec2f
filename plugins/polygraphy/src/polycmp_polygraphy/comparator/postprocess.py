"""Changes of outputs before they are compared under the names of `polygraphy.comparator`."""

from __future__ import annotations

from polycmp.comparator import PostprocessFunc as PostprocessFunc
from polycmp.comparator import TopKPostprocessFunc as TopKPostprocessFunc
