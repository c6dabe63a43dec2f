"""Impostors: outputs that a backend might give instead of the right ones, on which compare functions are tried."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from judges import comparison_of, normal_values

from polycmp._builtin_options import SimpleOptions
from polycmp.comparator import CompareFunc
from polycmp.compare.simple import Simple
from polycmp.spec import Verdict


def test_whole_numbers_are_asked_with_whole_impostors():
    """10 % more than 5 is 6, which an absolute tolerance of a half refuses."""
    assert comparison_of(np.int16([[5, -5], [3, -4]]), atol=0.5, rtol=0.0).passed
    comparison = comparison_of(np.int16([[3, 2], [1, -3]]), atol=1.2, rtol=0.0)
    assert (comparison.inconclusive, "half of every value" in comparison.reason) == ("blind", True)


def test_rounding_makes_no_impostor():
    """A constant up to rounding is one, and rows that differ by rounding alone are one row."""
    base = np.float32(0.125)
    assert comparison_of(np.nextafter(np.full((2, 8), base), [[base], [1]], dtype=np.float32)).passed


def test_other_functions_are_asked_with_real_impostors():
    def always(candidate, reference, *, output):
        return True

    def shape_only(candidate, reference, *, output):
        return Verdict(candidate.shape == reference.shape)

    def ranks(candidate, reference, *, output):
        return bool((candidate.argmax(-1) == reference.argmax(-1)).all())

    for function in (always, shape_only):
        comparison = comparison_of(normal_values(4, 8), functions={"script": function})
        assert comparison.inconclusive == "blind"
        assert comparison.reason == "zeros in place of 'y' would have passed, too"
    apart = np.eye(4, 8, dtype=np.float32)
    assert comparison_of(apart, functions={"script": ranks}).passed
    assert comparison_of(normal_values(4, 8), functions={"script": always, "simple": Simple(SimpleOptions())}).passed


def test_a_function_that_says_what_it_ignores_is_not_asked_with_that():
    class Ignoring:
        ignores = ("zeros", "constant", "negated", "halved", "larger", "row", "iteration")

        def __call__(self, candidate, reference, *, output):
            return True

    class Counting:
        def __init__(self):
            self.seen = 0

        def __call__(self, candidate, reference, *, output):
            self.seen += 1
            return bool((candidate == reference).all())

    assert comparison_of(normal_values(4, 8), functions={"script": Ignoring()}).passed
    counting = Counting()
    assert comparison_of(normal_values(4, 8), normal_values(4, 8, seed=1), functions={"script": counting}).passed
    assert counting.seen == 2  # what it keeps is the candidate's alone


def test_statistics_are_asked_with_real_impostors():
    sparse = np.zeros((1, 10_000), np.float32)
    sparse[0, 0] = 0.05
    mean = {"simple": Simple(SimpleOptions(check_error_stat={"": ("mean",)}))}
    assert comparison_of(sparse, functions=mean).inconclusive == "blind"
    assert comparison_of(normal_values(1, 1000), functions=mean).passed


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, ml_dtypes.int4])
def test_impostors_keep_to_the_numbers_that_a_type_has(dtype):
    """The negative of 9e18 in uint64 came out as 9e18 again, and was let pass."""
    large = 9488567761394658627 if dtype is np.uint64 else int(ml_dtypes.iinfo(dtype).max)
    psnr = {"psnr": CompareFunc.psnr(psnr_tolerance=30.0)}
    assert comparison_of(np.array([large, 0]).astype(dtype), functions=psnr).passed
