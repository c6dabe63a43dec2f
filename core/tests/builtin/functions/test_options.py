"""Options of compare functions: values that cannot be right, and those with which everything would pass."""

from __future__ import annotations

import pytest

from polycmp.comparator import CompareFunc
from polycmp.errors import UsageError

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("function", "value"),
    [("l2", -1), ("cosine_similarity", 1.5), ("psnr", "x"), ("snr", NAN), ("ulp", -1), ("indices", -1)],
)
def test_values_that_cannot_be_right_are_refused(function, value):
    with pytest.raises(UsageError):
        getattr(CompareFunc, function)(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("simple", {key: value}) for key in ("atol", "rtol") for value in (INF, NAN, -1.0, {"y": INF})),
        ("l2", {"l2_tolerance": INF}),
        ("psnr", {"psnr_tolerance": -INF}),
        ("snr", {"snr_tolerance": -INF}),
        ("ulp", {"ulp_tolerance": INF}),
        ("ulp", {"ulp_tolerance": 2.5}),
        ("indices", {"index_tolerance": INF}),
    ],
)
def test_a_tolerance_that_lets_everything_pass(name, value):
    with pytest.raises(ValueError, match=r"everything|negative|NaN|whole number|infinity") as caught:
        getattr(CompareFunc, name)(**value)
    assert isinstance(caught.value, UsageError)
