"""Tensors that hold the same numbers in another layout, exact or as codes do."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp_locate.sweep.layouts import turned

X = np.random.default_rng(0).standard_normal((2, 4, 6, 5)).astype(np.float32)


def coded(array):
    """Return the numbers in steps of a twentieth of the largest, as 8 bits behind a few layers have them."""
    step = np.abs(array).max() / 20
    return np.round(array / step) * step


@pytest.mark.parametrize("shown", [np.copy, coded], ids=["exact", "codes"])
@pytest.mark.parametrize(
    "laid_out",
    [lambda x: x.reshape(8, 6, 5), lambda x: x.transpose(0, 2, 3, 1), lambda x: x.reshape(2, 1, 4, 6, 5)],
    ids=["joined dimensions", "channels last", "a dimension of 1"],
)
def test_the_same_numbers_are_shown_in_the_layout_of_the_other_side(shown, laid_out):
    [(name, array)] = turned({"y": shown(laid_out(X))}, {"y": X})
    assert name == "y"
    np.testing.assert_array_equal(array, shown(X))


@pytest.mark.parametrize("other", [X[::-1].reshape(8, 6, 5), X.reshape(8, 6, 5)[:7], -X.reshape(8, 6, 5), X])
def test_other_numbers_and_the_same_shape_stay_as_they_are(other):
    assert list(turned({"y": other}, {"y": X})) == []
