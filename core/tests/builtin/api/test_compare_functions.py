"""Compare functions of Python programs: their names and keywords."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.comparator import (
    Comparator,
    CompareFunc,
    CosineSimilarityCompareFunc,
    IndicesCompareFunc,
    IterationResult,
    L2CompareFunc,
    PostprocessFunc,
    PsnrCompareFunc,
    RunResults,
    SimpleCompareFunc,
    SnrCompareFunc,
    TopKPostprocessFunc,
)
from polycmp.errors import InvalidValueError

NAN, INF = math.nan, math.inf


def iterations(value: float) -> tuple[IterationResult, IterationResult]:
    first = np.linspace(1, 2, 2000, dtype=np.float32)
    second = first.copy()
    second[1000] += value
    return IterationResult({"a": first, "b": first}), IterationResult({"a": second, "b": first})


@pytest.mark.parametrize(
    ("strict", "lenient"),
    [
        (SimpleCompareFunc(atol=1e-3, rtol=0), SimpleCompareFunc(True, 0, 2.0)),
        (L2CompareFunc(1e-3), L2CompareFunc(l2_threshold=2.0)),
        (CosineSimilarityCompareFunc(0.99999), CosineSimilarityCompareFunc(cosine_similarity_threshold=0.5)),
        (PsnrCompareFunc(60), PsnrCompareFunc(psnr_threshold=10)),
        (SnrCompareFunc(60), SnrCompareFunc(snr_threshold=10)),
    ],
    ids=["simple", "l2", "cosine", "psnr", "snr"],
)
def test_the_class_names_of_the_field_judge_two_iterations(strict, lenient):
    verdicts = strict(*iterations(1.0))
    assert {name: bool(verdict) for name, verdict in verdicts.items()} == {"a": False, "b": True}
    assert all(lenient(*iterations(1.0)).values())


def test_indices_and_top_k_have_names_of_their_own():
    ranked = TopKPostprocessFunc(2)({"y": np.array([[1.0, 3.0, 2.0]])})
    np.testing.assert_array_equal(ranked["y"], [[1, 2]])
    assert not IndicesCompareFunc(0)(ranked, {"y": np.array([[2, 1]])})["y"]


def test_shapes_are_checked_unless_the_function_says_otherwise():
    flat, square = np.arange(4.0), np.arange(4.0).reshape(2, 2)
    assert not CompareFunc.simple()(flat, square)
    assert CompareFunc.simple(check_shapes=False)(flat, square)
    assert not CompareFunc.simple(check_shapes=False)(flat, square + 1)
    assert not CompareFunc.simple(check_shapes=False)(flat, np.arange(3.0))
    runs = RunResults([("a", [IterationResult({"y": flat})]), ("b", [IterationResult({"y": square})])])
    assert not Comparator.compare_accuracy(runs)
    assert Comparator.compare_accuracy(runs, compare_func=SimpleCompareFunc(check_shapes=False))


def test_a_function_that_fails_fast_stops_at_the_first_difference():
    left, right = {"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.ones(2), "b": np.zeros(2)}
    assert list(CompareFunc.simple(fail_fast=True)(left, right)) == ["a"]
    assert list(CompareFunc.simple()(left, right)) == ["a", "b"]


@pytest.mark.parametrize("keyword", ["find_output_func", "save_pictures"])
def test_what_a_compare_function_cannot_do_is_refused(keyword):
    with pytest.raises(InvalidValueError, match=keyword):
        CompareFunc.simple(**{keyword: "x"})
    assert CompareFunc.simple(**{keyword: None})(np.zeros(1), np.zeros(1))


def test_a_misspelt_keyword_is_refused_even_if_it_asks_for_nothing():
    with pytest.raises(TypeError, match="a_tol"):
        CompareFunc.simple(a_tol=0)


@pytest.mark.parametrize("k", [0, -1, (0, 1), {"y": -3}])
def test_a_top_k_of_nothing(k):
    with pytest.raises(ValueError, match="nothing to compare"):
        PostprocessFunc.top_k(k)
