"""Results under the names of `polygraphy.comparator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycmp.comparator import AccuracyResult as AccuracyResult
from polycmp.comparator import AccuracyResults as AccuracyResults
from polycmp.comparator import IterationResult as IterationResult
from polycmp.comparator import RunResults as RunResults


class LazyArray:
    """An array that is loaded when it is asked for; here it is in memory all the time.

    Attributes:
        arr: The array.
        tmpfile: None: it lies in no file.
    """

    tmpfile = None

    def __init__(self, arr: Any) -> None:
        self.arr = arr

    def load(self) -> Any:
        """Return the array."""
        return self.arr

    def numpy(self) -> Any:
        """Return the array as NumPy's."""
        return np.asarray(self.arr)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        made = np.asarray(self.arr, dtype)
        return made.copy() if copy else made
