"""How errors are measured: the distance of two tensors, relative to a scale, in the coarser of two types."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp_locate.rounding.difference import coarser, distance, relative_to


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.5, 2.0], [1.0, -4.0], 1.5),
        ([0.0], [0.0], 0.0),
        ([1.0], [0.0], math.inf),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.inf, 1.0], [math.inf, 1.0], 0.0),
        ([math.inf, 1.0], [-math.inf, 1.0], math.inf),
        ([math.nan, 1.0], [1.0, 1.0], math.inf),
        ([1.0, 1.0], [1.0], math.inf),
        ([], [], 0.0),
    ],
)
def test_distance_is_the_largest_difference_over_the_largest_magnitude_of_the_second(one, two, expected):
    assert distance(np.array(one), np.array(two)) == expected


def test_distance_looks_at_every_piece_of_a_large_tensor():
    one, two = np.zeros(200_000, np.float32), np.zeros(200_000, np.float32)
    one[199_999], two[5] = 1, 4
    assert distance(one, two) == 1.0  # 4 in the first piece, 1 in the last one
    two[5] = one[5] = 8
    assert distance(one, two) == 0.125


@pytest.mark.parametrize(("error", "scale", "expected"), [(0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (1.0, 4.0, 0.25)])
def test_an_error_relative_to_a_scale(error, scale, expected):
    assert relative_to(error, scale) == expected


@pytest.mark.parametrize(
    ("of_type", "allowed", "unit"), [(2.0**-24, 0, 2.0**-24), (2.0**-24, 2.0**-11, 2.0**-11), (0, 2.0**-11, 0)]
)
def test_types_that_hold_exact_numbers_are_not_rounded_whatever_is_allowed(of_type, allowed, unit):
    assert coarser(of_type, allowed) == unit
