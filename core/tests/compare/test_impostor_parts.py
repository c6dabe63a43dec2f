"""Parts of an output that an impostor may take the place of alone, such as scores beside boxes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from judges import comparison_of, normal_values

from polycmp._builtin_options import SimpleOptions
from polycmp.comparator import CompareFunc
from polycmp.compare.simple import Simple


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"atol": 1.0, "rtol": 1e-3},
            "below atol 1: nothing could differ (in 80 of 84 channels of a scale of their own: 4",
        ),
        ({"atol": 0.6, "rtol": 1e-3}, "half of every value of 'y' would have passed, too: atol 0.6 is 6"),
        ({"atol": 0.15, "rtol": 1e-3}, "every value of 'y' made 10 % larger would have passed, too: atol 0.15 is 1"),
    ],
)
def test_a_part_below_the_tolerance_is_blind_beside_a_larger_one(dtype, axis, options, words):
    comparison = comparison_of(boxes(dtype, axis=axis), **options)
    assert comparison.inconclusive == "blind"
    assert words in comparison.reason
    assert "in 80 of 84 channels of a scale of their own" in comparison.reason


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_part_that_could_have_failed_is_seen(dtype):
    assert comparison_of(boxes(dtype), atol=0.05, rtol=1e-3).passed
    # an iteration in which every part could have failed is enough
    assert comparison_of(boxes(dtype), boxes(dtype, 640.0), atol=1.0, rtol=1e-3).passed


def test_a_scaled_tolerance_or_a_mean_fits_the_larger_part_only():
    scaled = Simple(SimpleOptions(atol={"": 0.01}, scale_atol=True))
    mean = Simple(SimpleOptions(atol={"": 0.2}, check_error_stat={"": ("mean",)}))
    for function in (scaled, mean):
        comparison = comparison_of(boxes(scores=0.3), functions={"simple": function})
        assert (comparison.inconclusive, "80 of 84 channels" in comparison.reason) == ("blind", True)
        assert comparison_of(boxes(scores=640.0), functions={"simple": function}).passed


@pytest.mark.parametrize("name", ["psnr", "snr", "cosine_similarity"])
def test_a_figure_of_the_whole_output_sees_the_larger_part_only(name):
    function = {name: getattr(CompareFunc, name)()}
    comparison = comparison_of(boxes(), functions=function)
    assert comparison.inconclusive == "blind"
    assert comparison.reason.startswith(
        "half of every value in a part of 'y' would have passed, too (in 80 of 84 channels of a scale"
    )
    assert comparison_of(boxes(scores=640.0), functions=function).passed
    # with what sees each element by itself, a fault in the scores would fail
    assert comparison_of(boxes(), functions={**function, "simple": Simple(SimpleOptions())}).passed


def test_dead_channels_beside_a_living_one_are_blind_if_they_lie_below_the_tolerance():
    made = normal_values(1, 64, 16, scale=1e-7)
    made[:, 3:8] = normal_values(1, 5, 16)
    assert comparison_of(made).inconclusive == "blind"
    assert comparison_of(made, atol=1e-12).passed


def test_one_huge_element_is_no_reason_to_believe_the_others():
    made = normal_values(1000, scale=1e-3)
    made[17] = 1e6
    comparison = comparison_of(made, atol=1e-2)
    assert comparison.inconclusive == "blind"
    assert "31 of 32 values of 'y' other than 0 are at most 0.00" in comparison.reason
    assert comparison_of(made, atol=1e-4).passed
    sparse = np.where(np.arange(1000) < 990, 0, made)  # nothing is hidden where there is nothing
    assert comparison_of(sparse, atol=1e-4).passed


def boxes(dtype=np.float32, scores=1.0, axis=1):
    """Return what a detector makes: 4 rows of boxes up to 640 beside 80 of scores up to 1."""
    random = np.random.default_rng(0)
    made = np.concatenate([random.random((1, 4, 200)) * 640, random.random((1, 80, 200)) * scores], axis=1)
    return np.moveaxis(made, 1, axis).astype(dtype)
