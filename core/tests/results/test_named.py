"""What programs hand over as outputs, as arrays by name."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import DataError
from polycmp.results import iterations_of

ONE, TWO = np.array([1.0]), np.array([2.0])
HANDED = {
    "an array": (ONE, [{"output": [1.0]}]),
    "by name": ({"y": ONE}, [{"y": [1.0]}]),
    "nested": ({"y": {"a": ONE, "b": [TWO]}, "left out": None}, [{"y.a": [1.0], "y.b.0": [2.0]}]),
    "several inputs": ([{"y": ONE}, {"y": TWO}], [{"y": [1.0]}, {"y": [2.0]}]),
    "a generator": (iter([{"y": ONE}, {"y": TWO}]), [{"y": [1.0]}, {"y": [2.0]}]),
}


@pytest.mark.parametrize(("data", "expected"), HANDED.values(), ids=HANDED)
def test_each_iteration_has_arrays_by_name(data, expected):
    made = [{name: array.tolist() for name, array in item.items()} for item in iterations_of(data)]
    assert made == expected


@pytest.mark.parametrize(
    ("data", "says"), [(iter([ONE]), "a generator yields ndarray"), ({"y": object()}, "'y' "), ({"y": {1, 2}}, "'y' ")]
)
def test_what_is_no_array_is_refused(data, says):
    with pytest.raises(DataError) as refused:
        list(iterations_of(data))
    assert says in str(refused.value)


def test_a_mask_is_an_array_or_is_refused():
    masked = {"y": np.ma.masked_array([1.0, 2.0], [False, True])}
    (made,) = iterations_of(masked)
    assert "y.mask" in made
    with pytest.raises(DataError):
        list(iterations_of(masked, masks=False))
