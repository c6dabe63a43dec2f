"""Compare functions under the names of `polygraphy.comparator`."""

from __future__ import annotations

from typing import Any

from polycmp.comparator import CompareFunc as _CompareFunc
from polycmp.comparator import CosineSimilarityCompareFunc as CosineSimilarityCompareFunc
from polycmp.comparator import IndicesCompareFunc as IndicesCompareFunc
from polycmp.comparator import L2CompareFunc as L2CompareFunc
from polycmp.comparator import PsnrCompareFunc as PsnrCompareFunc
from polycmp.comparator import SimpleCompareFunc as _Simple
from polycmp.comparator import SnrCompareFunc as SnrCompareFunc


class CompareFunc(_CompareFunc):
    """Makes compare functions, whose verdicts hold the median, too, without being asked for it."""

    @staticmethod
    def simple(*args: Any, **kwargs: Any) -> Any:
        """Return `polycmp.comparator.CompareFunc.simple` of the same arguments, with all figures."""
        return _CompareFunc.simple(*args, **{"detail": True, **kwargs})


def SimpleCompareFunc(*args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """Return `polycmp.comparator.SimpleCompareFunc` of the same arguments, with all figures."""
    return _Simple(*args, **{"detail": True, **kwargs})
