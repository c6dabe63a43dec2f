"""Results under the names of `polygraphy.comparator`."""

from __future__ import annotations

from typing import Any

from polycmp.comparator import AccuracyResult as AccuracyResult
from polycmp.comparator import AccuracyResults as _AccuracyResults
from polycmp.comparator import IterationResult as IterationResult
from polycmp.comparator import RunResults as RunResults
from polycmp.results import LazyArray as LazyArray

__all__ = ["AccuracyResult", "AccuracyResults", "IterationResult", "LazyArray", "RunResults"]


class AccuracyResults(_AccuracyResults):
    """One result for each compare function; of a single one also what that result is: a mapping, as until 0.49."""

    def __getitem__(self, key: Any) -> Any:
        """Return the result at a position, or the iterations of a pair of runs."""
        return super().__getitem__(key) if isinstance(key, int | slice) else self._only()[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (isinstance(key, tuple) and len(self) == 1 and key in self[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._only(), name)

    def output_names(self) -> list[str]:
        """Return the names of all outputs that were compared."""
        return list(dict.fromkeys(name for result in self for name in result.output_names()))

    def _only(self) -> AccuracyResult:
        if len(self) != 1:
            raise AttributeError(f"there are {len(self)} results, one for each compare function: name one by its index")
        return super().__getitem__(0)
