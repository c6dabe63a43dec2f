"""Options of the compare function `simple` and of the data loader `random`: values that cannot be right."""

from __future__ import annotations

import pytest
from judges import simple

from polycmp._builtin_options import RandomOptions
from polycmp.builtin.api.compare_functions import CompareFunc


@pytest.mark.parametrize(
    "values",
    [
        {"atol": -1},
        {"rtol": float("nan")},
        {"atol": "abc"},
        {"check_error_stat": "avg"},
        {"error_quantile": 1.5},
        {"nan": "perhaps"},
        {"atol": {"y": -1}},
    ],
)
def test_values_of_simple_that_cannot_be_right_are_refused(values):
    with pytest.raises(ValueError):
        simple(**values)


@pytest.mark.parametrize("statistics", [(), [], {"y": []}, {"": ("max",), "y": ()}, ""])
def test_simple_without_a_statistic(statistics):
    with pytest.raises(ValueError, match="statistic"):
        CompareFunc.simple(check_error_stat=statistics)


@pytest.mark.parametrize("values", [{"seed": -1}, {"iterations": 0}, {"val_range": {"": (2, 1)}}])
def test_values_of_random_that_cannot_be_right_are_refused(values):
    with pytest.raises(ValueError):
        RandomOptions(**values)
