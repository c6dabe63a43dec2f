"""Fitting a feed to a model: what is converted, and what is refused."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from polycmp.data.coerce import coerce_feed
from polycmp.errors import DataError
from polycmp.tensors import TensorMetadata


def test_a_feed_that_fits_is_handed_on_as_it_is():
    inputs = TensorMetadata().add("a", "float32", ("n",)).add("b", "int64", None)
    feed = {"b": np.arange(3), "a": np.ones(5, np.float32), "c": np.ones(1)}
    fitted = coerce_feed(feed, inputs, "mine")
    assert list(fitted) == ["a", "b"]
    assert all(fitted[name] is feed[name] for name in fitted)


def fit(value, dtype, owner="mine"):
    return coerce_feed({"x": value}, TensorMetadata().add("x", dtype, ("n",)), owner)["x"]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1, 2**31 - 1]), "int32"),
        (np.array([0, 1]), "bool"),
        (np.array([True, False]), "int64"),
        (np.array([0.1, np.nan, np.inf]), "float32"),
        (np.array([1.5, 3e38]), "bfloat16"),
        (np.array([1.0, -7.0]), "int4"),
        (np.array([3, 100]), "float16"),
        (np.array(["a", "b"]), "string"),
    ],
)
def test_values_that_survive_are_converted_with_a_warning(value, dtype, caplog):
    with caplog.at_level(logging.WARNING, "polycmp.data"):
        fitted = fit(value, dtype, owner=f"{dtype}-{value.dtype}")
    assert fitted.dtype == TensorMetadata().add("x", dtype, ())["x"].dtype
    if value.dtype.kind != "U":
        assert "converted to the" in caplog.text
        np.testing.assert_allclose(fitted.astype(np.float64), value.astype(np.float64), rtol=1e-2)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.array([1, 2**31]), "int32"),
        (np.array([-1]), "uint64"),
        (np.array([0.5]), "int64"),
        (np.array([np.nan]), "int64"),
        (np.array([2]), "bool"),
        (np.array([1e39]), "float32"),
        (np.array([70000.0], np.float32), "float16"),
        (np.array([1000.0]), "float8e4m3fn"),
        (np.array([8]), "int4"),
        (np.array([1j]), "float32"),
        (np.array(["1"]), "float32"),
    ],
)
def test_values_that_do_not_survive_are_an_error(value, dtype):
    with pytest.raises(DataError, match="'x' holds"):
        fit(value, dtype)


def test_names_and_shapes_are_never_guessed():
    inputs = TensorMetadata().add("image", "float32", (2, 3))
    array = np.ones((2, 3), np.float32)
    for feed, message in [
        ({"Image": array}, "no data for input 'image'"),
        ({"image:0": array}, "no data for input 'image'"),
        ({}, "no data for input 'image'"),
        ({"image": array.T}, r"shape \[3,2\], the model wants \[2,3\]"),
    ]:
        with pytest.raises(DataError, match=message):
            coerce_feed(feed, inputs, "mine")


def test_arrays_of_other_libraries_are_taken_through_dlpack():
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **more):
            return self.array.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert fit(Foreign(np.ones(3, np.float32)), "float32").tolist() == [1, 1, 1]
