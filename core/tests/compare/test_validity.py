"""NaN and infinity in outputs: counted, and the first one found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.compare.validity import CHUNK, InvalidValues, find_invalid

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.array([[1, NAN], [INF, -INF]], np.float32), (1, 2, (0, 1))),
        (np.array([1.0, INF]).astype(ml_dtypes.bfloat16), (0, 1, (1,))),
        (np.array([1, complex(NAN, 0)]), (1, 0, (1,))),
        (np.array(NAN), (1, 0, ())),
        (np.ones(3), None),
        (np.array([1, 2]), None),
        (np.array(["nan"]), None),
        (np.zeros(0), None),
    ],
)
def test_what_is_no_number_is_counted_and_the_first_is_named(array, found):
    assert find_invalid({"y": array}) == ([] if found is None else [InvalidValues("y", *found)])


def test_the_first_one_may_lie_beyond_what_is_looked_at_at_once():
    array = np.zeros((2, CHUNK), np.float16)
    array[1, 3] = array[1, -1] = NAN
    assert find_invalid({"x": np.ones(2), "y": array}) == [InvalidValues("y", 2, 0, (1, 3))]
