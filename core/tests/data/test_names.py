"""Values given by one model's names of inputs and dimensions, for a model that calls them otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.data.names import by_names_of, dimensions_of
from polycmp.errors import UsageError
from polycmp.tensors import TensorMetadata

OTHERS = [{"x": "input", "x2": "mask"}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"x": 1}, {"input": 1}),
        ({"input": 1}, {"input": 1}),
        ({"x*": 1}, {"input": 1, "mask": 1}),
        ({"": 1, "x2": 2}, {"": 1, "mask": 2}),
        ({"x": 1, "input": 1}, {"input": 1}),
        ({"nobody": 1}, {"nobody": 1}),
        ({"i*": 1}, {"i*": 1}),
    ],
)
def test_values_by_another_models_names(given, expected):
    assert by_names_of(["input", "mask"], given, OTHERS) == expected


def test_two_values_for_one_input_are_refused():
    with pytest.raises(UsageError, match="'x' and 'input' are the same input"):
        by_names_of(["input"], {"x": 1, "input": 2}, OTHERS)


def metadata(**shapes):
    made = TensorMetadata()
    for name, shape in shapes.items():
        made.add(name, np.float32, shape)
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"batch": 2}, {"N": 2}),
        ({"N": 2}, {"N": 2}),
        ({"seq": 3}, {"seq": 3}),
        ({"nobody": 3}, {"nobody": 3}),
        ({"width": 4}, {}),
        ({"width": 5}, {"width": 5}),
    ],
)
def test_sizes_by_another_models_names_of_dimensions(given, expected):
    assert dimensions_of(metadata(a=["N", "past + seq", 4]), given, [metadata(a=["batch", "all", "width"])]) == expected


def test_two_sizes_for_one_dimension_are_refused():
    with pytest.raises(UsageError, match="'batch' and 'N' are the same dimension"):
        dimensions_of(metadata(a=["N"]), {"batch": 2, "N": 3}, [metadata(a=["batch"])])
