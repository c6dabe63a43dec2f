"""Comparisons that could not have failed: every impostor, on outputs of all kinds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from judges import comparison_of, normal_values

from polycmp._builtin_options import SimpleOptions
from polycmp.compare.blindness import silent_outputs, without_elements
from polycmp.compare.pair import PairComparer
from polycmp.compare.simple import Simple


@pytest.mark.parametrize("shape", [(1, 8), (4, 8), (3, 5, 7), (1, 3, 64, 64), (200_000,), (2, 200_000), (1,), ()])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.complex64])
def test_ordinary_outputs_are_seen(shape, dtype):
    comparison = comparison_of(normal_values(*shape, dtype=dtype) + dtype(3))
    assert (comparison.passed, comparison.reason) == (True, "")


def test_an_output_below_the_tolerance_is_blind_and_says_so():
    comparison = comparison_of(normal_values(1, 64, 64, scale=3e-8))
    assert (comparison.passed, comparison.inconclusive) == (False, "blind")
    assert comparison.reason.startswith("the largest value of 'y' is 1.")
    assert comparison.reason.endswith("e-07, below atol 1e-05: nothing could differ")


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_tiny_numbers_that_pass_for_0_are_blind_whichever_side_holds_them(first):
    tiny, nothing = normal_values(4, 8, scale=3e-8), np.zeros((4, 8), np.float32)
    for made, expected in ((tiny, nothing), (nothing, tiny)):
        # an iteration in which something could have differed is enough
        comparison = comparison_of(
            expected, normal_values(4, 8) * first, candidates=[made, normal_values(4, 8) * first]
        )
        assert comparison.inconclusive == ("" if first else "blind")
        assert first or "below atol 1e-05: nothing could differ" in comparison.reason
    assert comparison_of(nothing, candidates=[nothing]).passed
    assert comparison_of(nothing, candidates=[tiny], accepted=["y"]).passed


@pytest.mark.parametrize(
    ("reference", "options", "words"),
    [
        (normal_values(4, 8), {"rtol": 1.0}, "zeros in place of 'y' would have passed, too: rtol is 1"),
        (
            normal_values(4, 8) + 5,
            {"atol": 0.9, "rtol": 0.0},
            "10 % larger would have passed, too: atol 0.9 is 14% of the lar",
        ),
        (normal_values(4, 8) + 5, {"rtol": 0.1}, "10 % larger would have passed, too: rtol is 0.1"),
        (normal_values(4, 8) + 5, {"rtol": 0.5}, "half of every value of 'y' would have passed, too: rtol is 0.5"),
        (0.001 + normal_values(4, 8, scale=1e-6), {}, "that number everywhere would have passed, too"),
        (
            np.tile(normal_values(1, 8), (4, 1)) + normal_values(4, 8, scale=1e-6),
            {"atol": 1e-4},
            "each row of 'y' would have passed",
        ),
    ],
)
def test_what_an_impostor_passes_is_blind(reference, options, words):
    comparison = comparison_of(reference, **options)
    assert comparison.inconclusive == "blind"
    assert words in comparison.reason


@pytest.mark.parametrize("options", [{"rtol": 0.09}, {"atol": 0.5, "rtol": 0.0}])
def test_tolerances_that_let_no_impostor_pass_are_nobodys_business(options):
    assert comparison_of(normal_values(4, 8) + 7, **options).passed


def test_an_output_that_never_changes_is_blind():
    first = normal_values(1, 8)
    comparison = comparison_of(first, first + np.float32(5e-6), first + np.float32(1e-5))
    assert comparison.inconclusive == "blind"
    assert "'y' of one iteration would have passed for the next" in comparison.reason
    assert comparison_of(first, first, first).passed  # the same inputs again
    assert comparison_of(first, first + np.float32(5e-6), first + np.float32(1)).passed


def test_one_iteration_in_which_something_could_differ_is_enough():
    small, large = normal_values(1, 8, scale=1e-8), normal_values(1, 8)
    assert comparison_of(small, small * 0.5).inconclusive == "blind"
    assert comparison_of(small, large).passed
    assert comparison_of(large, small).passed


def test_a_difference_is_a_difference_and_not_blind():
    small = normal_values(1, 8, scale=1e-8)
    assert comparison_of(small, small, candidates=[small, small + 1]).verdict == "failed"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (np.zeros((2, 8), np.float32), "the reference holds 0 everywhere"),
        (np.full((2, 8), 0.1, np.float32), "the reference holds 0.1 everywhere"),
        (np.full((2, 8), 7, np.int64), "the reference holds 7 everywhere"),
        (np.ones((2, 8), np.bool_), "the reference holds True everywhere"),
        (np.float32(0.0), "its only element is 0"),
        (np.int64(0), "its only element is 0"),
        (np.bool_(False), "its only element is False"),
        (np.int64(5), ""),
        (np.eye(4, dtype=np.float32), "every value is 0 or 1"),
        (np.eye(4, dtype=np.bool_), ""),
        (np.arange(8, dtype=np.uint8), ""),
        (np.array(["a", "b"]), ""),
        (np.array([1, -1, 1], ml_dtypes.int4), ""),
        (np.array([2**62, 2**62 + 1], np.int64), ""),
    ],
)
def test_outputs_that_are_rightly_of_one_value_or_two_pass_with_the_sentence_that_fits(reference, words):
    comparison = comparison_of(reference)
    assert (comparison.passed, comparison.reason) == (True, words)


def test_no_elements_are_nothing_compared_unless_another_output_has_some():
    comparison = comparison_of(np.zeros((0, 4), np.float32))
    assert (comparison.inconclusive, comparison.reason) == ("blind", "'y' has no elements: nothing was compared")
    comparer = PairComparer("a", "b", {"simple": Simple(SimpleOptions())}, accepted=())
    both = {"y": np.zeros((0, 4), np.float32), "z": normal_values(2, 2)}
    comparer.add(both, both)
    pair = without_elements(comparer.result(), ())
    assert pair.passed
    assert pair.outputs["y"].reason == "there is nothing in it"


@pytest.mark.parametrize("accepted", [("y",), ("*",), ("x", "?")])
def test_what_is_accepted_by_name_passes_and_keeps_the_remark(accepted):
    comparison = comparison_of(normal_values(8, scale=1e-8), accepted=accepted)
    assert (comparison.passed, comparison.inconclusive) == (True, "")
    assert comparison.reason.endswith("nothing could differ (accepted: --allow-blind)")
    assert comparison_of(normal_values(8, scale=1e-8), accepted=("x",)).inconclusive == "blind"


def test_nan_and_infinity_are_no_reason_for_blindness():
    array = normal_values(4, 8)
    array[0, 0], array[1, 1] = np.nan, np.inf
    function = Simple(SimpleOptions(nan="equal", infinities_compare_equal=True))
    assert comparison_of(array, functions={"simple": function}).passed


def test_nan_everywhere_is_nothing_compared():
    everywhere, function = np.full((2, 4), np.nan, np.float32), Simple(SimpleOptions(nan="equal"))
    comparison = comparison_of(everywhere, everywhere, functions={"simple": function})
    assert (comparison.inconclusive, "'y' is NaN everywhere" in comparison.reason) == ("blind", True)
    assert comparison_of(everywhere, normal_values(2, 4), functions={"simple": function}).passed


def test_a_large_array_is_looked_at_in_a_sample_alone():
    made = normal_values(1, 64, 4096, scale=1e-7)
    made[:, :32] = normal_values(1, 32, 4096)
    assert comparison_of(made).inconclusive == "blind"
    assert comparison_of(np.asfortranarray(made)).inconclusive == "blind"
    assert comparison_of(made + 1).passed


def test_a_map_that_is_next_to_nothing_in_most_places_is_no_blind_output():
    """A text detector's map on a page with little text: one runtime flushes to 0 what is 1e-15 in another."""
    made = normal_values(1, 1, 64, 64, scale=1e-15)
    made[..., 10:20, :] = normal_values(1, 1, 10, 64)
    assert comparison_of(np.abs(made), atol=1e-4).passed


NAN, INF = float("nan"), float("inf")


OUTPUTS = [
    ("next to nothing", np.linspace(-9e-8, 9e-8, 50, dtype=np.float32), True),
    ("the same everywhere", np.full(50, 0.5), True),
    ("the same whole number everywhere", np.full(50, 3), True),
    ("all false", np.zeros(3, bool), True),
    ("one that is next to nothing", np.array([1e-9]), True),
    ("real numbers", np.linspace(0, 1, 50), False),
    ("one element of many differs", np.r_[np.zeros(99_999), 1.0], False),
    ("one number", np.array([0.7]), False),
    ("one whole number", np.array(0), False),
    ("nothing at all", np.zeros((0, 3)), False),
    ("NaN", np.full(5, NAN), False),
    ("infinite", np.full(5, INF), False),
    ("text", np.array(["a", "a"], object), False),
]


@pytest.mark.parametrize("case", OUTPUTS, ids=[case[0] for case in OUTPUTS])
def test_which_outputs_say_nothing(case):
    _, array, silent = case
    functions = {"simple": Simple(SimpleOptions())}
    assert silent_outputs({"y": array}, functions) == (["y"] if silent else [])
    assert silent_outputs({"y": array}, functions, ["y"]) == []


@pytest.mark.parametrize(("atol", "silent"), [(1e-5, False), (0.5, True), (1e-12, False)])
def test_what_says_nothing_hangs_on_the_tolerance_as_the_verdict_does(atol, silent):
    outputs = {"y": np.random.default_rng(0).uniform(0.1, 0.4, (1, 64, 64)).astype(np.float32)}
    functions = {"simple": Simple(SimpleOptions(atol={"": atol}))}
    assert bool(silent_outputs(outputs, functions)) is silent
    comparer = PairComparer("a", "b", functions, accepted=())
    comparer.add(outputs, outputs)
    assert (comparer.result().inconclusive == "blind") is silent
