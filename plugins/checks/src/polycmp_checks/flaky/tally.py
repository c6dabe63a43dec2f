"""Counts of different results by their hashes, so that only the tensors of one run are kept."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare import differences
from polycmp.tensors import dtype_class, to_numpy
from polycmp_checks.flaky.findings import Repeated, Repeats


def digest(array: Any) -> bytes:
    """Return a hash of a tensor's element type, shape and bits."""
    values = to_numpy(array)
    hasher = hashlib.blake2b(f"{values.dtype} {values.shape}".encode(), digest_size=16)
    if values.dtype.hasobject:
        hasher.update(repr(values.tolist()).encode())
    else:
        hasher.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return hasher.digest()


def largest_difference(one: Any, two: Any) -> float | None:
    """Return the largest absolute difference of two tensors; None where they have none: other shapes, or texts."""
    a, b = to_numpy(one), to_numpy(two)
    numbers = all(dtype_class(item.dtype) in {"float", "complex", "integer", "bool"} for item in (a, b))
    if a.shape != b.shape or not numbers or not a.size:
        return None
    figures = differences(a, b)
    return math.inf if figures.nan_mismatched else float(figures.max_abs)


class Tally:
    """Counts the different results of runs.

    Args:
        first: Outputs that differences are measured from; by default those of the first run. They have to stay valid.
    """

    def __init__(self, first: Mapping[str, NDArray[Any]] | None = None) -> None:
        self.first = first
        self._together: Counter[tuple[tuple[str, bytes], ...]] = Counter()
        self._each: dict[str, Counter[bytes]] = {}
        self._largest: dict[str, float | None] = {}

    def add(self, outputs: Mapping[str, Any]) -> None:
        """Count the outputs of one run."""
        if self.first is None:
            self.first = {name: np.array(to_numpy(array)) for name, array in outputs.items()}
        digests = {name: digest(array) for name, array in outputs.items()}
        self._together[tuple(sorted(digests.items()))] += 1
        for name, value in digests.items():
            seen = self._each.setdefault(name, Counter())
            if value not in seen and name in self.first:
                self._measure(name, outputs[name], self.first[name])
            seen[value] += 1

    def _measure(self, name: str, array: Any, first: Any) -> None:
        known = self._largest.get(name, 0.0)
        gap = largest_difference(array, first)
        self._largest[name] = None if gap is None or known is None else max(known, gap)

    def result(self) -> Repeats:
        """Return the counts."""
        outputs = (
            Repeated(name, len(seen), max(seen.values()), self._largest.get(name)) for name, seen in self._each.items()
        )
        return Repeats(self._together.total(), len(self._together), tuple(outputs))
