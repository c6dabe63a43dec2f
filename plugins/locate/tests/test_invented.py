"""Where made-up numbers prove nothing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from polycmp_locate.causes.invented import ask
from polycmp_locate.values.judged import NOT_FINITE, UNDECIDED, WRONG, Judged

NAN = {"y": np.float32([1, np.nan])}


@pytest.mark.parametrize(
    ("verdict", "invented", "expected", "found"),
    [
        (NOT_FINITE, {"fmin": 0.5}, NAN, UNDECIDED),
        (NOT_FINITE, {"fmin": 0.5}, {"i": np.arange(2), **NAN}, UNDECIDED),
        (NOT_FINITE, {}, NAN, NOT_FINITE),
        (NOT_FINITE, {"fmin": 0.5}, {"y": np.float32([1, np.inf])}, NOT_FINITE),
        (WRONG, {"fmin": 0.5}, NAN, WRONG),
    ],
)
def test_nobody_is_accused_of_nan_that_the_reference_makes_of_them_as_well(verdict, invented, expected, found):
    whole = SimpleNamespace(setting=SimpleNamespace(invented=invented), expected=expected)
    judged = ask(Judged(verdict), whole, ())
    assert judged.verdict == found
    if found == UNDECIDED:
        assert "--val-range fmin:[LOW,HIGH]" in judged.cause.sentence(judged, "new", "old")
