"""The compare function `indices`: lists of indices, such as a top-k's, that may be in slightly another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.verdict import lost_channels
from polycmp.compare import DetailedVerdict, OutputJudge, as_scalar, at_index, shape_reason
from polycmp.options import pick
from polycmp.tensors import dtype_class, is_low_bit

if TYPE_CHECKING:
    from polycmp.builtin.functions.options import IndicesOptions

Array = NDArray[Any]
#: Elements looked up at once, which bounds the memory.
_GROUP = 1 << 20


@dataclass(frozen=True)
class Indices(OutputJudge):
    """Judge lists of indices along the last axis by how far each index moved.

    An index passes if the reference has it at the same place, or has it for the first time at most `tolerance` places
    away. The last `tolerance` entries of the candidate's list are not looked at, as theirs may have dropped out; a
    list that has no others fails, since nothing of it is checked.

    Args:
        options: Places an index may move, per output.
    """

    options: IndicesOptions

    def judge(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        a, b = candidate, reference
        allowed = pick(self.options.tolerance, output, 0)
        tolerance = {"index_tolerance": float(allowed)}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        a, b = np.atleast_1d(a), np.atleast_1d(b)
        length = a.shape[-1]
        if a.size and allowed >= length:
            reason = f"the tolerance {allowed} covers the whole list of {length}, so nothing was checked"
            return DetailedVerdict(False, reason, {"moved": 0.0}, None, tolerance)
        a, b = _comparable(a, b)
        moved, first = _moved(a.reshape(-1, length), b.reshape(-1, length), allowed) if a.size else (0, -1)
        metrics = {"moved": float(moved)}
        if not moved:
            return DetailedVerdict(True, "", metrics, None, tolerance)
        index = tuple(int(i) for i in np.unravel_index(first, a.shape))
        reason = (
            f"{moved} of {a.size} indices moved by more than {allowed}, the first{at_index(index)}: "
            f"{as_scalar(a[index])} instead of {as_scalar(b[index])}"
        )
        reason = "; ".join(filter(None, (reason, lost_channels(candidate, reference))))
        return DetailedVerdict(False, reason, metrics, None, tolerance)


def _comparable(candidate: Array, reference: Array) -> tuple[Array, Array]:
    """Return both arrays in types whose `==` and order are exact; NumPy makes float64 of int64 beside uint64."""
    a, b = _native(candidate), _native(reference)
    if a.dtype != b.dtype and 8 in {a.dtype.itemsize, b.dtype.itemsize} and np.result_type(a, b).kind == "f":
        return a.astype(object), b.astype(object)
    return a, b


def _native(array: Array) -> Array:
    if not is_low_bit(array.dtype):
        return array
    return array.astype(np.complex64 if dtype_class(array.dtype) == "complex" else np.float32)


def _moved(candidate: Array, reference: Array, tolerance: int) -> tuple[int, int]:
    """Count the entries that moved too far, and find the first; each row is a list."""
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
    moved = np.abs(firsts - place) <= tolerance
    moved &= known
    moved &= np.equal(wanted, wanted).astype(bool)  # NaN is no index that could have moved
    return np.asarray((row * length + place)[~moved])


def _first_places(lists: Array, wanted: Array, row: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return whether each wanted value is in its list, and where it is for the first time."""
    values, codes = np.unique(np.concatenate([lists.reshape(-1), wanted]), return_inverse=True)
    codes = codes.reshape(-1)
    base = np.repeat(np.arange(lists.shape[0]), lists.shape[1]) * values.size
    keys, first = np.unique(base + codes[: lists.size], return_index=True)
    asked = row * values.size + codes[lists.size :]
    at = np.minimum(np.searchsorted(keys, asked), keys.size - 1)
    return keys[at] == asked, first[at] % lists.shape[1]
