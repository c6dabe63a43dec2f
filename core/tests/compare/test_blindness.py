"""Comparisons that could not have failed: every impostor, on outputs of all kinds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp._builtin_options import SimpleOptions
from polycmp.comparator import CompareFunc
from polycmp.compare.blindness import silent_outputs, without_elements
from polycmp.compare.pair import PairComparer
from polycmp.compare.simple import Simple
from polycmp.spec import Verdict


def judged(*references, accepted=(), functions=None, candidates=None, **options):
    """Return what is said of `y` over iterations in which both sides agree."""
    functions = functions or {"simple": Simple(SimpleOptions(**{name: {"": v} for name, v in options.items()}))}
    comparer = PairComparer("a", "b", functions, accepted=accepted)
    for number, reference in enumerate(references):
        made = reference if candidates is None else candidates[number]
        comparer.add({"y": np.asarray(made)}, {"y": np.asarray(reference)})
    return without_elements(comparer.result(), accepted).outputs["y"]


def values(*shape, seed=0, scale=1.0, dtype=np.float32):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 8), (4, 8), (3, 5, 7), (1, 3, 64, 64), (200_000,), (2, 200_000), (1,), ()])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.complex64])
def test_ordinary_outputs_are_seen(shape, dtype):
    found = judged(values(*shape, dtype=dtype) + dtype(3))
    assert (found.passed, found.reason) == (True, "")


def test_an_output_below_the_tolerance_is_blind_and_says_so():
    found = judged(values(1, 64, 64, scale=3e-8))
    assert (found.passed, found.inconclusive) == (False, "blind")
    assert found.reason.startswith("the largest value of 'y' is 1.")
    assert found.reason.endswith("e-07, below atol 1e-05: nothing could differ")


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_tiny_numbers_that_pass_for_0_are_blind_whichever_side_holds_them(first):
    tiny, nothing = values(4, 8, scale=3e-8), np.zeros((4, 8), np.float32)
    for made, expected in ((tiny, nothing), (nothing, tiny)):
        # an iteration in which something could have differed is enough
        found = judged(expected, values(4, 8) * first, candidates=[made, values(4, 8) * first])
        assert found.inconclusive == ("" if first else "blind")
        assert first or "below atol 1e-05: nothing could differ" in found.reason
    assert judged(nothing, candidates=[nothing]).passed
    assert judged(nothing, candidates=[tiny], accepted=["y"]).passed


@pytest.mark.parametrize(
    ("reference", "options", "words"),
    [
        (values(4, 8), {"rtol": 1.0}, "zeros in place of 'y' would have passed, too: rtol is 1"),
        (
            values(4, 8) + 5,
            {"atol": 0.9, "rtol": 0.0},
            "10 % larger would have passed, too: atol 0.9 is 14% of the lar",
        ),
        (values(4, 8) + 5, {"rtol": 0.1}, "10 % larger would have passed, too: rtol is 0.1"),
        (values(4, 8) + 5, {"rtol": 0.5}, "half of every value of 'y' would have passed, too: rtol is 0.5"),
        (0.001 + values(4, 8, scale=1e-6), {}, "that number everywhere would have passed, too"),
        (np.tile(values(1, 8), (4, 1)) + values(4, 8, scale=1e-6), {"atol": 1e-4}, "each row of 'y' would have passed"),
    ],
)
def test_what_an_impostor_passes_is_blind(reference, options, words):
    found = judged(reference, **options)
    assert found.inconclusive == "blind"
    assert words in found.reason


@pytest.mark.parametrize("options", [{"rtol": 0.09}, {"atol": 0.5, "rtol": 0.0}])
def test_tolerances_that_let_no_impostor_pass_are_nobodys_business(options):
    assert judged(values(4, 8) + 7, **options).passed


def test_an_output_that_never_changes_is_blind():
    first = values(1, 8)
    found = judged(first, first + np.float32(5e-6), first + np.float32(1e-5))
    assert found.inconclusive == "blind"
    assert "'y' of one iteration would have passed for the next" in found.reason
    assert judged(first, first, first).passed  # the same inputs again
    assert judged(first, first + np.float32(5e-6), first + np.float32(1)).passed


def test_one_iteration_in_which_something_could_differ_is_enough():
    small, large = values(1, 8, scale=1e-8), values(1, 8)
    assert judged(small, small * 0.5).inconclusive == "blind"
    assert judged(small, large).passed
    assert judged(large, small).passed


def test_a_difference_is_a_difference_and_not_blind():
    small = values(1, 8, scale=1e-8)
    assert judged(small, small, candidates=[small, small + 1]).verdict == "failed"


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
    found = judged(reference)
    assert (found.passed, found.reason) == (True, words)


def test_whole_numbers_are_asked_with_whole_impostors():
    """10 % more than 5 is 6, which an absolute tolerance of a half refuses."""
    assert judged(np.int16([[5, -5], [3, -4]]), atol=0.5, rtol=0.0).passed
    found = judged(np.int16([[3, 2], [1, -3]]), atol=1.2, rtol=0.0)
    assert (found.inconclusive, "half of every value" in found.reason) == ("blind", True)


def test_rounding_makes_no_impostor():
    """A constant up to rounding is one, and rows that differ by rounding alone are one row."""
    base = np.float32(0.125)
    assert judged(np.nextafter(np.full((2, 8), base), [[base], [1]], dtype=np.float32)).passed


def test_no_elements_are_nothing_compared_unless_another_output_has_some():
    found = judged(np.zeros((0, 4), np.float32))
    assert (found.inconclusive, found.reason) == ("blind", "'y' has no elements: nothing was compared")
    comparer = PairComparer("a", "b", {"simple": Simple(SimpleOptions())}, accepted=())
    both = {"y": np.zeros((0, 4), np.float32), "z": values(2, 2)}
    comparer.add(both, both)
    pair = without_elements(comparer.result(), ())
    assert pair.passed
    assert pair.outputs["y"].reason == "there is nothing in it"


@pytest.mark.parametrize("accepted", [("y",), ("*",), ("x", "?")])
def test_what_is_accepted_by_name_passes_and_keeps_the_remark(accepted):
    found = judged(values(8, scale=1e-8), accepted=accepted)
    assert (found.passed, found.inconclusive) == (True, "")
    assert found.reason.endswith("nothing could differ (accepted: --allow-blind)")
    assert judged(values(8, scale=1e-8), accepted=("x",)).inconclusive == "blind"


def test_other_functions_are_asked_with_real_impostors():
    def always(candidate, reference, *, output):
        return True

    def shape_only(candidate, reference, *, output):
        return Verdict(candidate.shape == reference.shape)

    def ranks(candidate, reference, *, output):
        return bool((candidate.argmax(-1) == reference.argmax(-1)).all())

    for function in (always, shape_only):
        found = judged(values(4, 8), functions={"script": function})
        assert found.inconclusive == "blind"
        assert found.reason == "zeros in place of 'y' would have passed, too"
    apart = np.eye(4, 8, dtype=np.float32)
    assert judged(apart, functions={"script": ranks}).passed
    assert judged(values(4, 8), functions={"script": always, "simple": Simple(SimpleOptions())}).passed


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

    assert judged(values(4, 8), functions={"script": Ignoring()}).passed
    counting = Counting()
    assert judged(values(4, 8), values(4, 8, seed=1), functions={"script": counting}).passed
    assert counting.seen == 2  # what it keeps is the candidate's alone


def test_nan_and_infinity_are_no_reason_for_blindness():
    array = values(4, 8)
    array[0, 0], array[1, 1] = np.nan, np.inf
    function = Simple(SimpleOptions(nan="equal", infinities_compare_equal=True))
    assert judged(array, functions={"simple": function}).passed


def test_nan_everywhere_is_nothing_compared():
    everywhere, function = np.full((2, 4), np.nan, np.float32), Simple(SimpleOptions(nan="equal"))
    found = judged(everywhere, everywhere, functions={"simple": function})
    assert (found.inconclusive, "'y' is NaN everywhere" in found.reason) == ("blind", True)
    assert judged(everywhere, values(2, 4), functions={"simple": function}).passed


def test_statistics_are_asked_with_real_impostors():
    sparse = np.zeros((1, 10_000), np.float32)
    sparse[0, 0] = 0.05
    mean = {"simple": Simple(SimpleOptions(check_error_stat={"": ("mean",)}))}
    assert judged(sparse, functions=mean).inconclusive == "blind"
    assert judged(values(1, 1000), functions=mean).passed


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, ml_dtypes.int4])
def test_impostors_keep_to_the_numbers_that_a_type_has(dtype):
    """The negative of 9e18 in uint64 came out as 9e18 again, and was let pass."""
    large = 9488567761394658627 if dtype is np.uint64 else int(ml_dtypes.iinfo(dtype).max)
    psnr = {"psnr": CompareFunc.psnr(psnr_tolerance=30.0)}
    assert judged(np.array([large, 0]).astype(dtype), functions=psnr).passed


def boxes(dtype=np.float32, scores=1.0, axis=1):
    """Return what a detector makes: 4 rows of boxes up to 640 beside 80 of scores up to 1."""
    random = np.random.default_rng(0)
    made = np.concatenate([random.random((1, 4, 200)) * 640, random.random((1, 80, 200)) * scores], axis=1)
    return np.moveaxis(made, 1, axis).astype(dtype)


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
    found = judged(boxes(dtype, axis=axis), **options)
    assert found.inconclusive == "blind"
    assert words in found.reason
    assert "in 80 of 84 channels of a scale of their own" in found.reason


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_part_that_could_have_failed_is_seen(dtype):
    assert judged(boxes(dtype), atol=0.05, rtol=1e-3).passed
    # an iteration in which every part could have failed is enough
    assert judged(boxes(dtype), boxes(dtype, 640.0), atol=1.0, rtol=1e-3).passed


def test_a_scaled_tolerance_or_a_mean_fits_the_larger_part_only():
    scaled = Simple(SimpleOptions(atol={"": 0.01}, scale_atol=True))
    mean = Simple(SimpleOptions(atol={"": 0.2}, check_error_stat={"": ("mean",)}))
    for function in (scaled, mean):
        found = judged(boxes(scores=0.3), functions={"simple": function})
        assert (found.inconclusive, "80 of 84 channels" in found.reason) == ("blind", True)
        assert judged(boxes(scores=640.0), functions={"simple": function}).passed


@pytest.mark.parametrize("name", ["psnr", "snr", "cosine_similarity"])
def test_a_figure_of_the_whole_output_sees_the_larger_part_only(name):
    function = {name: getattr(CompareFunc, name)()}
    found = judged(boxes(), functions=function)
    assert found.inconclusive == "blind"
    assert found.reason.startswith(
        "half of every value in a part of 'y' would have passed, too (in 80 of 84 channels of a scale"
    )
    assert judged(boxes(scores=640.0), functions=function).passed
    # with what sees each element by itself, a fault in the scores would fail
    assert judged(boxes(), functions={**function, "simple": Simple(SimpleOptions())}).passed


def test_dead_channels_beside_a_living_one_are_blind_if_they_lie_below_the_tolerance():
    made = values(1, 64, 16, scale=1e-7)
    made[:, 3:8] = values(1, 5, 16)
    assert judged(made).inconclusive == "blind"
    assert judged(made, atol=1e-12).passed


def test_one_huge_element_is_no_reason_to_believe_the_others():
    made = values(1000, scale=1e-3)
    made[17] = 1e6
    found = judged(made, atol=1e-2)
    assert found.inconclusive == "blind"
    assert "31 of 32 values of 'y' other than 0 are at most 0.00" in found.reason
    assert judged(made, atol=1e-4).passed
    sparse = np.where(np.arange(1000) < 990, 0, made)  # nothing is hidden where there is nothing
    assert judged(sparse, atol=1e-4).passed


def test_a_large_array_is_looked_at_in_a_sample_alone():
    made = values(1, 64, 4096, scale=1e-7)
    made[:, :32] = values(1, 32, 4096)
    assert judged(made).inconclusive == "blind"
    assert judged(np.asfortranarray(made)).inconclusive == "blind"
    assert judged(made + 1).passed


def test_a_map_that_is_next_to_nothing_in_most_places_is_no_blind_output():
    """A text detector's map on a page with little text: one runtime flushes to 0 what is 1e-15 in another."""
    made = values(1, 1, 64, 64, scale=1e-15)
    made[..., 10:20, :] = values(1, 1, 10, 64)
    assert judged(np.abs(made), atol=1e-4).passed


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
