"""The outputs of one iteration."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.results.runs import IterationResult


def result(array=(1.0, np.nan), runtime=0.5, runner_name="new"):
    return IterationResult({"y": np.array(array, np.float32)}, runtime, runner_name)


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (result(), True),  # NaN at the same place is the same
        (result((1.0, 2.0)), False),
        (result((1.0, np.nan, 3.0)), False),
        (result(runtime=0.25), False),
        (result(runner_name="old"), False),
        (IterationResult({"z": np.float32([1, np.nan])}, 0.5, "new"), False),
        (IterationResult({"y": np.float64([1, np.nan])}, 0.5, "new"), False),
        (None, False),
    ],
)
def test_it_equals_one_that_holds_the_same(other, equal):
    assert (result() == other) is equal
    assert (result() != other) is not equal


def test_another_form_of_the_outputs_keeps_what_is_known_beside_them():
    one = result()
    one.insensitive, one.environment = ("y",), {"numpy": "2"}
    other = one.holding({"y": np.zeros(2, ml_dtypes.bfloat16)})
    assert (other.runtime, other.runner_name, other.insensitive) == (0.5, "new", ("y",))
    assert other.environment == {"numpy": "2"}
    assert other != one


def test_programs_find_arrays_in_wrappers():
    wrapped = result((1.0, 2.0)).dct["y"]
    assert wrapped.arr is wrapped.load()
    assert wrapped.numpy().tolist() == np.asarray(wrapped).tolist() == [1.0, 2.0]
    assert IterationResult().runner_name == "custom_runner"
