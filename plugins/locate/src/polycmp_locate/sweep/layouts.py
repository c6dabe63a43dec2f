"""Tensors that one model lays out otherwise, as those that a converter makes with the channels last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

import numpy as np

from polycmp.tensors import to_numpy
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import BEYOND_EIGHT_BITS

#: Relative distance from which on two tensors hold other numbers; whether what is nearer is right is for others to say
#: (choice: codes of 8 bits behind a few layers are 0.02 to 0.1 apart, numbers in another order about 1).
_OTHER_NUMBERS = 0.5
#: Dimensions up to which all orders of the axes are tried: 120 orders of five.
_MOST_AXES = 5


def turned(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the candidate's tensors of another shape that hold the reference's numbers, in the reference's layout.

    Args:
        actual: The candidate's tensors.
        expected: The reference's.
    """
    for name in actual.keys() & expected.keys():
        one, two = to_numpy(actual[name]), to_numpy(expected[name])
        if one.shape == two.shape or one.size != two.size or one.dtype.kind != two.dtype.kind:
            continue
        nearest, least = None, _OTHER_NUMBERS
        for array in (one, *_in_other_orders(one, two.shape)):
            laid_out = np.ascontiguousarray(array).reshape(two.shape)
            gap = distance(laid_out, two)
            if gap < least:
                nearest, least = laid_out, gap
            if least <= BEYOND_EIGHT_BITS:
                break
        if nearest is not None:
            yield name, nearest


def _in_other_orders(array: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yield a tensor with its axes in each order that has a shape; those of one element have no place."""
    long = tuple(size for size in shape if size != 1)
    plain = array.squeeze()
    if plain.ndim <= _MOST_AXES and sorted(plain.shape) == sorted(long):
        for order in permutations(range(plain.ndim)):
            if tuple(plain.shape[axis] for axis in order) == long:
                yield plain.transpose(order)
