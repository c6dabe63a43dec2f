"""Comparisons that used to pass, and must not: nothing judged, values that lie, functions that interfere."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.observers.averages import Means, recorded_metrics
from polycmp.comparator import Comparator, CompareFunc, IterationResult, PostprocessFunc, RunResults
from polycmp.compare.pair import PairComparer
from polycmp.errors import ComparisonError, PolycmpError, UsageError

NAN, INF = math.nan, math.inf
X = np.arange(6, dtype=np.float32).reshape(2, 3)
FUNCTIONS = ["simple", "indices", "l2", "cosine_similarity", "psnr", "snr", "ulp"]


class TestNothingJudged:
    """No compare function passes everything."""

    @pytest.mark.parametrize("statistics", [(), [], {"y": []}, {"": ("max",), "y": ()}, ""])
    def test_simple_without_a_statistic(self, statistics):
        with pytest.raises(ValueError, match="statistic"):
            CompareFunc.simple(check_error_stat=statistics)

    def test_no_function_at_all(self):
        with pytest.raises(ValueError, match="no compare function"):
            PairComparer("mine", "ref", {})

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
    def test_a_tolerance_that_lets_everything_pass(self, name, value):
        with pytest.raises(ValueError, match=r"everything|negative|NaN|whole number|infinity") as caught:
            getattr(CompareFunc, name)(**value)
        assert isinstance(caught.value, UsageError)

    def test_a_list_that_the_tolerance_covers(self):
        verdict = CompareFunc.indices(1)(np.array([[3], [4]]), np.array([[5], [4]]))
        assert not verdict.passed
        assert "nothing was checked" in verdict.reason

    @pytest.mark.parametrize("k", [0, -1, (0, 1), {"y": -3}])
    def test_a_top_k_of_nothing(self, k):
        with pytest.raises(ValueError, match="nothing to compare"):
            PostprocessFunc.top_k(k)

    def test_a_run_compared_with_itself_or_with_none(self):
        results = RunResults([("a", [IterationResult({"y": X})]), ("b", [IterationResult({"y": X + 1})])])
        for pair, words in [
            ((0, 5), "no run at position 5"),
            ((-3, 0), "no run"),
            ((0, 0), "itself"),
            ((1, -1), "its"),
        ]:
            with pytest.raises(ValueError, match=words):
                Comparator.compare_accuracy(results, comparisons=[pair])
        with pytest.raises(ValueError, match="not a pair of positions"):
            Comparator.compare_accuracy(results, comparisons=[(0, "b")])
        assert not Comparator.compare_accuracy(results, comparisons=[(0, -1)])

    def test_two_runs_of_one_label_are_both_judged(self):
        runs = [("a", [IterationResult({"y": X + 1})]), ("a", [IterationResult({"y": X})])]
        result = Comparator.compare_accuracy(RunResults([*runs, ("b", [IterationResult({"y": X})])]))
        assert list(result) == [("a", "b"), ("a#2", "b")]
        assert not result


class TestArithmetic:
    """Bits, NaN and infinity."""

    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
    def test_ulp_of_big_endian_numbers(self, dtype):
        a, b = np.array([0.25], f">{dtype}"), np.array([1.0], f">{dtype}")
        assert not CompareFunc.ulp()(a, b)
        assert CompareFunc.ulp(0)(b, b.astype(dtype)).passed

    def test_the_same_type_in_another_byte_order_is_no_remark(self):
        pair = PairComparer("mine", "ref", {"simple": CompareFunc.simple()})
        assert pair.add({"y": X.astype(">f4")}, {"y": X})[0].reason == ""

    @pytest.mark.parametrize("dtype", ["c8", "c16"])
    def test_complex_infinities(self, dtype):
        a, b = np.array([complex(INF, 1)], dtype), np.array([complex(INF, 1000)], dtype)
        for left, right in ((a, b), (b, a), (a, -a), (a, np.ones(1, dtype)), (np.ones(1, dtype), a)):
            assert not CompareFunc.simple()(left, right)
            assert not CompareFunc.simple(infinities_compare_equal=True)(left, right)
        assert not CompareFunc.simple()(a, a)
        assert CompareFunc.simple(infinities_compare_equal=True)(a, a)

    @pytest.mark.parametrize("statistic", ["max", "mean", "median", "quantile"])
    def test_complex_infinities_in_statistics(self, statistic):
        a, b = np.array([complex(INF, 1)] * 3), np.array([complex(INF, 1000)] * 3)
        assert not CompareFunc.simple(statistic)(a, b)

    def test_complex_numbers_whose_magnitude_overflows(self):
        a, b = np.array([complex(1.7e308, 1.7e308)]), np.array([complex(1.0e308, 1.7e308)])
        assert not CompareFunc.simple()(a, b)
        assert CompareFunc.simple()(a, b).stats.max_rel == pytest.approx(0.7 / math.hypot(1, 1.7))

    def test_half_precision_complex_numbers_have_an_imaginary_part(self):
        complex32 = getattr(ml_dtypes, "complex32", None)
        if complex32 is None:
            pytest.skip("this ml_dtypes has no complex32")
        a, b = np.array([1 + 2j]).astype(complex32), np.array([1 - 2j]).astype(complex32)
        assert not CompareFunc.simple()(a, b)

    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
    def test_no_number_is_a_neighbour_of_infinity(self, dtype):
        infinite = np.array([INF], dtype)
        largest = np.array([float(ml_dtypes.finfo(dtype).max)], dtype)
        for a, b in ((infinite, largest), (largest, infinite), (infinite, -infinite)):
            assert not CompareFunc.ulp(10**9)(a, b)
        assert CompareFunc.ulp(0)(infinite, infinite)

    @pytest.mark.parametrize("narrow", ["f2", ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn])
    def test_a_number_that_the_shorter_type_cannot_hold(self, narrow):
        largest = np.array([float(ml_dtypes.finfo(narrow).max)]).astype(narrow)
        with np.errstate(all="ignore"):
            infinite = np.array([INF]).astype(narrow)
        wide = np.array([1e30], np.float32)
        for a, b in ((infinite, wide), (wide, infinite), (largest, wide), (wide, largest)):
            assert not CompareFunc.ulp(10**9)(a, b)

    @pytest.mark.parametrize(
        "dtype", [getattr(ml_dtypes, name) for name in dir(ml_dtypes) if name.startswith(("float", "bfloat"))]
    )
    def test_ulp_of_every_low_bit_type(self, dtype):
        b = np.array([1.0, 2.0], np.float32).astype(dtype)
        assert CompareFunc.ulp(0)(b, b)
        verdict = CompareFunc.ulp(0)(b[::-1], b)
        assert not verdict
        assert verdict.metrics["max_ulp"] == 2 ** ml_dtypes.finfo(dtype).nmant

    def test_longdouble_loses_no_digit(self):
        one = np.ones(2, np.longdouble)
        following = one + np.finfo(np.longdouble).eps
        assert not CompareFunc.simple(atol=0, rtol=0)(following, one)
        assert not CompareFunc.simple()(np.array([np.finfo(np.longdouble).max]), one[:1])
        assert not CompareFunc.cosine_similarity()(-one * np.finfo(np.longdouble).tiny, one)

    @pytest.mark.parametrize("tolerance", [0, 1])
    def test_indices_of_wide_integers_lose_no_digit(self, tolerance):
        a, b = np.array([2**63 + 1, 1, 2], np.uint64), np.array([2**62, 1, 2], np.int64)
        assert not CompareFunc.indices(tolerance)(a, b)
        assert not CompareFunc.indices(tolerance)(np.array([2**53 + 1, 1, 2]), np.array([2**53, 1, 2], np.uint64))

    def test_nan_is_no_index_that_moved(self):
        a = np.array([NAN, 1.0, 2.0])
        assert not CompareFunc.indices(1)(a, a)

    @pytest.mark.parametrize("function", ["l2", "cosine_similarity", "psnr", "snr"])
    def test_norms_of_the_largest_numbers(self, function):
        largest = np.array([np.finfo(np.float64).max] * 2)
        compare = getattr(CompareFunc, function)()
        assert compare(largest, largest)
        assert not compare(-largest, largest)
        if function == "snr":
            assert compare(-largest, largest).metrics["snr"] == pytest.approx(-20 * math.log10(2))

    def test_the_smallest_integer_is_the_largest_magnitude(self):
        b = np.array([-128, 0], np.int8)
        assert CompareFunc.simple(atol=1e-2, rtol=0, scale_atol=True)(b + np.int8(1), b).tolerance["atol"] == 1.28


class TestWholeNumbers:
    """Exact unless a tolerance was asked for; then differing ones get a remark."""

    @pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8"])
    def test_an_index_that_is_nearly_right_is_another_one(self, dtype):
        a, b = np.array([7, 200000], dtype), np.array([7, 200001], dtype)
        assert not CompareFunc.simple()(a, b)
        assert not CompareFunc.simple(atol=0.5)(a, b)
        assert not CompareFunc.simple("mean")(np.arange(10**6) == 5, np.zeros(10**6, bool))
        verdict = CompareFunc.simple(rtol=1e-5)(a, b)
        assert verdict.passed
        assert verdict.reason == "1 of 2 elements differs within tolerance, by at most 1"
        pair = PairComparer("mine", "ref", {"simple": CompareFunc.simple(rtol={"y": 1e-5})})
        assert pair.add({"y": a}, {"y": b})[0].reason == verdict.reason

    def test_equal_ones_get_no_remark_and_real_numbers_keep_their_tolerances(self):
        a = np.array([7, 200000])
        assert CompareFunc.simple()(a, a).reason == ""
        assert CompareFunc.simple()(np.array([200000.5]), np.array([200000.0])).passed
        assert CompareFunc.simple().judge_metrics({"max_abs": 1.0, "max_rel": 5e-6, "required_rel": 5e-6}).passed


class TestNanInFigures:
    """NaN at different places, where figures are judged."""

    @pytest.mark.parametrize("statistic", ["max", "mean"])
    def test_equally_many_at_other_places(self, statistic):
        compare = CompareFunc.simple(statistic, nan="equal")
        verdict = compare(np.array([NAN, 0, 0, 0]), np.array([0, NAN, 0, 0]))
        assert not verdict
        assert not compare.judge_metrics(recorded_metrics(verdict))

    @pytest.mark.parametrize("statistic", ["max", "mean"])
    def test_born_in_one_iteration_and_lost_in_another(self, statistic):
        compare = CompareFunc.simple(statistic, nan="equal")
        born, plain = np.array([NAN, 1.0]), np.array([1.0, 1.0])
        means = Means()
        for a, b in ((born, plain), (plain, born)):
            means.add(recorded_metrics(compare(a, b)))
        assert not compare.judge_metrics(means.result())

    def test_the_same_places_are_equal_when_asked(self):
        a = np.array([NAN, 1.0, 2.0])
        found = recorded_metrics(CompareFunc.simple()(a, a))
        assert not CompareFunc.simple().judge_metrics(found)
        for statistic in ("elemwise", "max", "mean"):
            assert CompareFunc.simple(statistic, nan="equal").judge_metrics(found)

    def test_figures_without_places_cannot_be_judged_so(self):
        old = {"max_abs": 0.0, "max_rel": 0.0, "nan_candidate": 1.0, "nan_reference": 1.0}
        with pytest.raises(ComparisonError, match="cannot be judged with these options") as caught:
            CompareFunc.simple("max", nan="equal").judge_metrics(old, output="y")
        assert "same places" in caught.value.why
        assert not CompareFunc.simple("max", nan="equal").judge_metrics({**old, "nan_reference": 2.0})

    def test_a_median_that_took_nan_for_infinite_cannot_be_judged_so(self):
        a, b = np.array([NAN, NAN, 1.0]), np.array([NAN, NAN, 1.5])
        found = recorded_metrics(CompareFunc.simple("median")(a, b))
        with pytest.raises(ComparisonError, match="cannot be judged with these options"):
            CompareFunc.simple("median", nan="equal").judge_metrics(found, output="y")

    def test_infinities_that_were_equal_differ_again(self):
        a = np.array([INF, 1.0])
        found = recorded_metrics(CompareFunc.simple(infinities_compare_equal=True)(a, a))
        assert CompareFunc.simple(infinities_compare_equal=True).judge_metrics(found)
        for statistic in ("elemwise", "max", "mean"):
            assert not CompareFunc.simple(statistic).judge_metrics(found)


class TestIterations:
    """A compare function called with the outputs of two iterations."""

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_two_mappings_give_a_verdict_by_name(self, name):
        compare = getattr(CompareFunc, name)()
        a, b = IterationResult({"y": X, "z": X + 1}), IterationResult({"y": X.copy(), "z": X[::-1] + 5})
        found = compare(a, b)
        assert {output: verdict.passed for output, verdict in found.items()} == {"y": True, "z": False}

    def test_an_output_of_one_side_and_another_kind_of_type_fail(self):
        found = CompareFunc.simple()({"y": X, "i": X}, {"i": X.astype(int), "z": X})
        assert [verdict.passed for verdict in found.values()] == [False] * 3
        assert "the reference has no output 'y'" in found["y"].reason
        assert "float is not integer" in found["i"].reason
        assert CompareFunc.simple(atol={"y": 2})({"y": X + 1}, {"y": X})["y"].passed

    @pytest.mark.parametrize(
        ("candidate", "reference"),
        [("text", "text"), ([1.0], [1.0]), (None, None), ({"y": X}, X), (object(), object()), ({}, {})],
    )
    def test_anything_else_is_an_error(self, candidate, reference):
        with pytest.raises(ValueError, match=r"neither an array nor a mapping|neither side has an output") as caught:
            CompareFunc.simple()(candidate, reference)
        assert isinstance(caught.value, PolycmpError)
