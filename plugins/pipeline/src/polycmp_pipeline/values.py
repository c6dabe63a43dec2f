"""Values between stages: arrays, numbers, texts, and lists of them; their items, and the differences of two."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polycmp.tensors import same_bits, to_numpy

Array = npt.NDArray[Any]
#: The values of one sample, by name.
Values = dict[str, Any]
#: Lists of more pairs than this are not searched for the items that belong together (choice: each pair is compared).
_MOST_PAIRS = 10_000


def is_list(value: Any) -> bool:
    """Return whether a value is a list of items, each a value of its own; one of numbers alone is an array."""
    return isinstance(value, (list, tuple)) and not (value and all(_is_number(item) for item in value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Number, np.generic)) and not isinstance(value, np.str_)


def is_item(value: Any) -> bool:
    """Return whether something is an array, a number, numbers in a list, or a text."""
    if isinstance(value, (list, tuple)):
        return not is_list(value)
    return isinstance(value, str) or _is_number(value) or (hasattr(value, "dtype") and hasattr(value, "shape"))


def array_of(value: Any) -> Array:
    """Return an item as an array; a text, or nothing, is an array of one object."""
    if value is None or isinstance(value, str):
        return np.array(value, dtype=object)
    if _is_number(value) or isinstance(value, (list, tuple)):
        return np.asarray(value)
    return to_numpy(value)


def items_of(value: Any, at: str = "") -> Iterator[tuple[str, Array]]:
    """Yield the items in a value, each with its place in words that follow the value's name."""
    if not is_list(value):
        yield at, array_of(value)
        return
    for number, item in enumerate(value):
        yield from items_of(item, f"{at}[{number}]")


def same(one: Any, two: Any) -> bool:
    """Return whether two values hold the same bits in the same lists."""
    items, other_items = list(items_of(one)), list(items_of(two))
    return len(items) == len(other_items) and all(
        at == place and same_bits(array, other)
        for (at, array), (place, other) in zip(items, other_items, strict=True)
    )  # fmt: skip


def same_values(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Return whether two sets of values are the same, by name."""
    return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)


def together(candidate: Sequence[Any], reference: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    """Return the places of items that belong together, in their order; None where one side has no counterpart.

    Items of lists of one length belong together by their places, others as they leave the least difference.
    """
    if len(candidate) == len(reference):
        return [(place, place) for place in range(len(reference))]
    if len(candidate) * len(reference) > _MOST_PAIRS:
        shorter, longer = sorted((len(candidate), len(reference)))
        ends = [(None, place) if len(candidate) < longer else (place, None) for place in range(shorter, longer)]
        return [*((place, place) for place in range(shorter)), *ends]
    return _aligned(candidate, reference)


def _aligned(candidate: Sequence[Any], reference: Sequence[Any]) -> list[tuple[int | None, int | None]]:
    """Align two lists so that the sum of distances is the smallest; an item that is left out costs 1/2."""
    candidate_items, reference_items = ([list(items_of(item)) for item in side] for side in (candidate, reference))
    rows, columns = len(candidate_items) + 1, len(reference_items) + 1
    cost = np.add.outer(np.arange(rows), np.arange(columns)) / 2.0
    apart = [[_distance(one, two) for two in reference_items] for one in candidate_items]
    for row in range(1, rows):
        for column in range(1, columns):
            pair = cost[row - 1, column - 1] + apart[row - 1][column - 1]
            cost[row, column] = min(pair, cost[row - 1, column] + 0.5, cost[row, column - 1] + 0.5)
    pairs: list[tuple[int | None, int | None]] = []
    row, column = rows - 1, columns - 1
    while row or column:
        if row and column and cost[row, column] == cost[row - 1, column - 1] + apart[row - 1][column - 1]:
            row, column = row - 1, column - 1
            pairs.append((row, column))
        elif row and cost[row, column] == cost[row - 1, column] + 0.5:
            row -= 1
            pairs.append((row, None))
        else:
            column -= 1
            pairs.append((None, column))
    return pairs[::-1]


def _distance(one: Sequence[tuple[str, Array]], two: Sequence[tuple[str, Array]]) -> float:
    """Return the distance of two items, between 0 and 1."""
    if [at for at, _ in one] != [at for at, _ in two]:
        return 1.0
    shares = [_share_of(array, other) for (_, array), (_, other) in zip(one, two, strict=True)]
    return min(max(shares, default=0.0), 1.0)


def _share_of(one: Array, two: Array) -> float:
    share = share_of(one, two)
    return 1.0 if share is None else share


def share_of(candidate: Array, reference: Array) -> float | None:
    """Return the largest difference as a share of the span of the reference's numbers; None if there are none.

    Texts, and arrays of different shapes or kinds, have no such share.
    """
    if same_bits(candidate, reference):
        return 0.0
    kinds = {array.dtype.kind for array in (candidate, reference)}
    if candidate.shape != reference.shape or kinds & set("OUSc") or not reference.size:
        return None
    one, two = (array.astype(np.float64) for array in (candidate, reference))
    with np.errstate(all="ignore"):
        off = np.abs(one - two)
        off = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, off)
        finite = two[np.isfinite(two)]
        span = float(np.ptp(finite)) if finite.size else 0.0
        span = span or (float(np.abs(finite).max()) if finite.size else 0.0)
    largest = float(off.max())
    if largest == 0.0:
        return 0.0
    return largest / span if span and np.isfinite(largest) else float("inf")
