"""The compare function `indices`: lists of indices, such as a top-k's, that may be in slightly another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.verdicts import DetailedVerdict
from polycmp.compare.words import as_scalar, at_index, shape_reason
from polycmp.tensors import to_numpy
from polycmp.values import pick

Array = NDArray[Any]
#: Elements looked up at once, which bounds the memory.
_GROUP = 1 << 20


@dataclass(frozen=True)
class Indices:
    """Judge lists of indices along the last axis by how far each index moved.

    An index passes if the reference has it at the same place, or has it for the first time at most `tolerance` places
    away. The last `tolerance` entries of the candidate's list are not looked at, as theirs may have dropped out.

    Args:
        tolerances: Places an index may move, per output.
    """

    tolerances: Mapping[str, int]

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> DetailedVerdict:
        """Return the verdict on one output.

        Args:
            candidate: Indices; the last axis is one list.
            reference: What they should be.
            output: The output's name, for a tolerance of its own.
        """
        a, b = to_numpy(candidate), to_numpy(reference)
        allowed = pick(self.tolerances, output, 0)
        tolerance = {"index_tolerance": float(allowed)}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        a, b = np.atleast_1d(a), np.atleast_1d(b)
        length = a.shape[-1]
        if a.size and allowed >= length:
            reason = f"the tolerance {allowed} covers the whole list of {length}, so nothing was checked"
            return DetailedVerdict(True, reason, {"moved": 0.0}, None, tolerance)
        moved, first = _moved(a.reshape(-1, length), b.reshape(-1, length), allowed) if a.size else (0, -1)
        metrics = {"moved": float(moved)}
        if not moved:
            return DetailedVerdict(True, "", metrics, None, tolerance)
        index = tuple(int(i) for i in np.unravel_index(first, a.shape))
        reason = (
            f"{moved} of {a.size} indices moved by more than {allowed}, the first{at_index(index)}: "
            f"{as_scalar(a[index])} instead of {as_scalar(b[index])}"
        )
        return DetailedVerdict(False, reason, metrics, None, tolerance)


def _moved(candidate: Array, reference: Array, tolerance: int) -> tuple[int, int]:
    """Return how many entries moved too far and the position of the first, for lists as rows."""
    moved, first = 0, -1
    rows = max(1, _GROUP // candidate.shape[1])
    for start in range(0, candidate.shape[0], rows):
        bad = _moved_places(candidate[start : start + rows], reference[start : start + rows], tolerance)
        if bad.size and first < 0:
            first = start * candidate.shape[1] + int(bad[0])
        moved += int(bad.size)
    return moved, first


def _moved_places(candidate: Array, reference: Array, tolerance: int) -> NDArray[np.intp]:
    length = candidate.shape[1]
    suspect = candidate != reference
    suspect[:, length - tolerance :] = False
    row, place = np.nonzero(suspect)
    if tolerance == 0 or not row.size:
        return np.asarray(row * length + place)
    lists = np.unique(row)  # only lists with a suspect need looking up
    wanted = candidate[row, place]
    known, firsts = _first_places(reference[lists], wanted, np.searchsorted(lists, row))
    found = np.abs(firsts - place) <= tolerance
    found &= known
    return np.asarray((row * length + place)[~found])


def _first_places(lists: Array, wanted: Array, row: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return whether each wanted value is in its list, and where it is for the first time."""
    values, codes = np.unique(np.concatenate([lists.reshape(-1), wanted]), return_inverse=True)
    codes = codes.reshape(-1)
    base = np.repeat(np.arange(lists.shape[0]), lists.shape[1]) * values.size
    keys, first = np.unique(base + codes[: lists.size], return_index=True)
    asked = row * values.size + codes[lists.size :]
    at = np.minimum(np.searchsorted(keys, asked), keys.size - 1)
    return keys[at] == asked, first[at] % lists.shape[1]
