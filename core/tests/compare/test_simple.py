"""`simple` against an oracle that does the same with Python's own numbers."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from in_parts import each_once
from judges import simple

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.compare.pair import PairComparer

REALS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
WHOLE = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint4]


def errors_of(candidate, reference):
    """Return the absolute and relative error of two finite numbers; whole numbers are subtracted exactly."""
    apart = float(abs(candidate - reference))
    if apart == 0:
        return 0.0, 0.0
    return apart, (apart / float(abs(reference)) if reference else math.inf)


def oracle(candidate, reference, atol, rtol):
    pairs = [errors_of(a, b) for a, b in zip(candidate.tolist(), reference.tolist(), strict=True)]
    failed = [apart > atol and relative > rtol for apart, relative in pairs]
    return sum(failed), max(a for a, _ in pairs), max(r for _, r in pairs)


@st.composite
def two_arrays(draw, dtype, elements):
    size = draw(st.integers(1, 30))
    a = draw(hnp.arrays(dtype, size, elements=elements))
    b = draw(hnp.arrays(dtype, size, elements=elements))
    keep = draw(hnp.arrays(bool, size))
    return a, np.where(keep, a, b)


@settings(deadline=None, max_examples=60)
@given(
    two_arrays(np.float64, st.floats(-1e6, 1e6) | st.floats(-1e-6, 1e-6)),
    st.sampled_from([0.0, 1e-5, 0.5]),
    st.sampled_from([0.0, 1e-5, 0.5]),
    st.sampled_from(REALS),
)
def test_every_real_type_agrees_with_pythons_own_numbers(arrays, atol, rtol, dtype):
    with np.errstate(all="ignore"):
        a, b = (array.clip(-200, 200).astype(dtype) for array in arrays)
    verdict = simple(atol=atol, rtol=rtol)(a, b)
    failed, max_abs, max_rel = oracle(a.astype(np.float64), b.astype(np.float64), atol, rtol)
    assert verdict.passed == (failed == 0)
    assert verdict.stats.failed == failed
    assert (verdict.stats.max_abs, verdict.stats.max_rel) == (max_abs, max_rel)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(WHOLE), st.sampled_from(WHOLE))
def test_every_pair_of_whole_types_agrees_with_pythons_own_numbers(data, left, right):
    def numbers(dtype):
        info = ml_dtypes.iinfo(dtype)
        ends = st.sampled_from([int(info.min), int(info.max), 0, 1])
        return data.draw(st.lists(ends | st.integers(int(info.min), int(info.max)), min_size=4, max_size=4))

    a, b = numbers(left), numbers(right)
    verdict = simple(atol=1, rtol=1e-3)(np.array(a, dtype=left), np.array(b, dtype=right))
    pairs = [errors_of(x, y) for x, y in zip(a, b, strict=True)]
    assert verdict.stats.failed == sum(apart > 1 and relative > 1e-3 for apart, relative in pairs)
    assert verdict.stats.max_abs == max(apart for apart, _ in pairs)


@pytest.mark.parametrize("narrow", [np.int8, ml_dtypes.uint4, ml_dtypes.int4, bool])
def test_64_bit_integers_beside_any_others_lose_no_digit(narrow):
    verdict = simple()(np.array([-18014398509481005]), np.array([1]).astype(narrow))
    assert verdict.stats.max_abs == 18014398509481006


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        (np.array([5], np.int32), np.array([-(2**31)], np.int32)),
        (np.array([2**31 - 1], np.int32), np.array([-(2**31)], np.int32)),
        (np.array([1], np.uint64), np.array([2], np.uint64)),
        (np.array([2**63 - 1]), np.array([2**63 - 2])),
        (np.array([2**64 - 1], np.uint64), np.array([-(2**63)])),
        (np.array([True]), np.array([False])),
        (np.array([3e38], np.float32), np.array([-3e38], np.float32)),
        (np.array([1 + 1j]), np.array([1 - 1j])),
    ],
)
def test_differences_that_overflow_elsewhere_fail(candidate, reference):
    verdict = simple(rtol=0)(candidate, reference)
    assert not verdict
    assert verdict.stats.max_abs > 0


@pytest.mark.parametrize(
    ("shape", "layout"),
    each_once([(700_000, 2), (3, 400_001), (2, 2, 300_000)], ["C", "F", "strided", "transposed"]),
)
def test_blocks_and_threads_give_what_one_block_gives(shape, layout):
    rng = np.random.default_rng(0)
    b = rng.standard_normal(shape)
    a = b + rng.standard_normal(shape) * 1e-6
    a[1, -2] += 0.5
    b[0, 0] = 0
    expected_abs = np.abs(a - b)
    with np.errstate(divide="ignore"):
        expected_rel = expected_abs / np.abs(b)
    failed = int(((expected_abs > 1e-6) & (expected_rel > 1e-6)).sum())
    if layout == "F":
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    elif layout == "strided":
        b = np.repeat(b, 2, axis=0)[::2]
    elif layout == "transposed":
        a, b = np.ascontiguousarray(a.T).T, b[::-1].copy()[::-1]
    stats = simple(atol=1e-6, rtol=1e-6)(a, b).stats
    assert stats.failed == failed
    assert stats.max_abs == expected_abs.max()
    assert stats.mean_abs == pytest.approx(expected_abs.mean(), rel=1e-12)
    assert stats.max_rel == expected_rel.max()
    assert stats.count == a.size


def test_the_worst_element_is_named_with_both_values():
    b = np.ones((3, 4), np.float32)
    a = b.copy()
    a[2, 1], a[0, 3] = 1.5, 1.2
    verdict = simple()(a, b, output="y")
    assert verdict.stats.worst.index == (2, 1)
    assert (verdict.stats.worst.candidate, verdict.stats.worst.reference) == (1.5, 1.0)
    assert verdict.stats.failed == 2
    assert "2 of 12 elements" in verdict.reason
    assert "[2,1]: 1.5 instead of 1" in verdict.reason


@settings(deadline=None, max_examples=40)
@given(two_arrays(np.float32, st.floats(-1e3, 1e3, width=32)))
def test_the_required_tolerances_would_have_passed_and_nothing_smaller(arrays):
    a, b = arrays
    stats = simple()(a, b).stats
    assert simple(atol=stats.required_abs, rtol=0)(a, b)
    if stats.required_rel < INF:
        assert simple(atol=0, rtol=stats.required_rel)(a, b)
    if stats.required_abs:
        assert not simple(atol=math.nextafter(stats.required_abs, 0), rtol=0)(a, b)
    if 0 < stats.required_rel < INF:
        assert not simple(atol=0, rtol=stats.required_rel * (1 - 1e-12))(a, b)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("policy", "candidate", "reference", "passes"),
    [
        ("differ", [1, NAN], [1, 2], False),
        ("differ", [1, 2], [1, NAN], False),
        ("differ", [1, NAN], [1, NAN], False),
        ("equal", [1, NAN], [1, NAN], True),
        ("equal", [1, NAN], [1, 2], False),
        ("equal", [NAN, 2], [2, NAN], False),
        ("forbid", [1, NAN], [1, NAN], False),
        ("forbid", [1, 2], [1, 2], True),
    ],
)
@pytest.mark.parametrize("statistic", ["elemwise", "max", "mean", "median", "quantile"])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_nan_is_treated_as_asked(policy, candidate, reference, passes, statistic, dtype):
    compare = simple(statistic, nan=policy)
    verdict = compare(np.array(candidate, dtype), np.array(reference, dtype))
    assert verdict.passed == passes
    assert passes or "NaN" in verdict.reason


@pytest.mark.parametrize(
    ("candidate", "reference", "equal", "passes"),
    [
        ([INF, 1], [INF, 1], True, True),
        ([INF, 1], [INF, 1], False, False),
        ([INF, 1], [-INF, 1], True, False),
        ([5, 1], [INF, 1], True, False),
        ([INF, 1], [5, 1], True, False),
    ],
)
def test_infinities_are_equal_only_when_asked(candidate, reference, equal, passes):
    verdict = simple(infinities_compare_equal=equal)(np.array(candidate), np.array(reference))
    assert verdict.passed == passes


def test_zero_in_the_reference_is_no_excuse():
    assert simple(atol=0)(np.zeros(3), np.zeros(3))
    assert simple(atol=0, rtol=1e9)(np.array([1e-30]), np.zeros(1)).stats.max_rel == INF
    assert not simple(atol=0, rtol=1e9)(np.array([1e-30]), np.zeros(1))
    assert simple(atol=1e-20, rtol=0)(np.array([1e-30]), np.zeros(1))


@pytest.mark.parametrize("size", [7, 1000, 250_000])
@pytest.mark.parametrize("quantile", [0.0, 0.3, 0.99, 1.0])
def test_median_and_quantile_are_exact_at_any_size(size, quantile):
    rng = np.random.default_rng(size)
    b = rng.standard_normal(size)
    a = b + rng.standard_normal(size) * 10.0 ** rng.integers(-9, 0, size)
    stats = simple(["median", "quantile"], error_quantile=quantile)(a, b).stats
    errors = np.abs(a - b)
    assert stats.median_abs == pytest.approx(np.median(errors), rel=1e-15)
    assert stats.quantile_abs == pytest.approx(np.quantile(errors, quantile), rel=1e-15)
    assert stats.quantile_rel == pytest.approx(np.quantile(errors / np.abs(b), quantile), rel=1e-15)


def test_quantiles_of_many_equal_errors_are_exact():
    b = np.zeros(1_200_000)
    a = np.full(b.size, 0.1)
    a[: b.size // 4] = 0.3
    stats = simple("quantile", error_quantile=0.8)(a, b).stats
    assert stats.quantile_abs == 0.3
    assert simple("median")(a, b).stats.median_abs == 0.1


def test_all_unnamed_statistics_are_checked():
    b = np.zeros(100)
    a = b.copy()
    a[3] = 1
    verdict = simple(["median", "max"])(a, b)
    assert not verdict
    assert "max error" in verdict.reason
    assert "median" not in verdict.reason
    assert simple({"": ("elemwise",), "y": "median"})(a, b, output="y")


@pytest.mark.parametrize("size", [50, 600_000])
def test_details_come_only_when_asked_for(size):
    rng = np.random.default_rng(1)
    b = rng.standard_normal(size).astype(np.float32)
    a = b + rng.standard_normal(size).astype(np.float32) * np.float32(1e-3)
    plain, detailed = simple()(a, b).stats, simple(detail=True)(a, b).stats
    assert (plain.p90, plain.median_abs, plain.histogram) == (None, None, None)
    errors = np.abs(a.astype(float) - b)
    for name, point in [("median_abs", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)]:
        assert getattr(detailed, name) == pytest.approx(
            np.quantile(errors, point), rel=1e-12 if size < 100 else 1 / 128
        )
    assert sum(detailed.histogram.counts) == size
    assert len(detailed.histogram.edges) == len(detailed.histogram.counts) + 1
    upper = detailed.histogram.edges[-2]
    assert detailed.histogram.counts[-1] == int((errors >= upper).sum())
    assert (plain.failed, plain.max_abs) == (detailed.failed, detailed.max_abs)


def test_what_changed_in_kind_is_said():
    b = np.arange(5.0)
    assert "same number everywhere" in simple()(np.full(5, 2.0), b).reason
    assert "NaN born: 1" in simple()(np.array([0, 1, NAN, 3, 4]), b).reason
    assert "shape [5] instead of [1,5]" in simple()(b, b[None]).reason


def test_text_is_compared_for_equality():
    a, b = np.array([["x", "y"]], object), np.array([["x", "z"]])
    assert simple()(a, a.astype("S1"))
    verdict = simple()(a, b)
    assert not verdict
    assert "'y' instead of 'z'" in verdict.reason


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,)])
def test_odd_shapes(shape):
    assert simple(detail=True)(np.ones(shape, np.float32), np.ones(shape, np.float32))


def test_tolerances_belong_to_outputs_and_patterns():
    compare = simple(atol={"": 0, "logit*": 1}, rtol=0)
    assert compare(np.ones(1), np.zeros(1), output="logits")
    assert not compare(np.ones(1), np.zeros(1), output="boxes")


def test_channels_that_are_constant_on_one_side_are_named_where_a_tensor_fails():
    reference = np.random.default_rng(0).random((1, 22, 64)).astype(np.float32)
    candidate = reference.copy()
    candidate[:, 4:] = 0
    said = simple()(candidate, reference, output="output0")
    assert not said.passed
    assert "18 of 22 channels (axis 1) are 0 here and not in the reference" in said.reason
    reference[:, 4:] = 1e-9  # next to nothing, and within the tolerance
    candidate = reference.copy()
    candidate[:, 0] += 1
    candidate[:, 4:] = 0
    assert "channels" not in simple()(candidate, reference, output="output0").reason


# `scale_atol`: the absolute tolerance in units of the output's largest value

LARGE = np.array([1e4, 1.0, -3e3], np.float32)


def test_what_rounding_leaves_of_large_numbers_is_no_difference():
    made = LARGE + np.float32(0.05)
    plain, scaled = (simple(scale_atol=on)(made, LARGE, output="y") for on in (False, True))
    assert (plain.passed, scaled.passed) == (False, True)
    assert scaled.tolerance["atol"] == pytest.approx(0.1)


def test_more_than_that_still_is():
    made = LARGE + np.float32(0.2)
    assert not simple(scale_atol=True)(made, LARGE, output="y").passed


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_small_outputs_keep_the_tolerance_as_it_is(scale):
    reference = np.array([0.5, 1.0], np.float32) * np.float32(scale)
    verdict = simple(scale_atol=True)(reference + np.float32(1e-4), reference, output="y")
    assert not verdict.passed
    assert verdict.tolerance["atol"] == 1e-5


def test_infinity_and_nan_do_not_scale():
    reference = np.array([np.inf, np.nan, 2.0], np.float32)
    verdict = simple(scale_atol=True, nan="equal", infinities_compare_equal=True)(reference, reference)
    assert verdict.passed
    assert verdict.tolerance["atol"] == pytest.approx(2e-5)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_infinities(dtype):
    a, b = np.array([complex(INF, 1)], dtype), np.array([complex(INF, 1000)], dtype)
    for left, right in ((a, b), (b, a), (a, -a), (a, np.ones(1, dtype)), (np.ones(1, dtype), a)):
        assert not CompareFunc.simple()(left, right)
        assert not CompareFunc.simple(infinities_compare_equal=True)(left, right)
    assert not CompareFunc.simple()(a, a)
    assert CompareFunc.simple(infinities_compare_equal=True)(a, a)


@pytest.mark.parametrize("statistic", ["max", "mean", "median", "quantile"])
def test_complex_infinities_in_statistics(statistic):
    a, b = np.array([complex(INF, 1)] * 3), np.array([complex(INF, 1000)] * 3)
    assert not CompareFunc.simple(statistic)(a, b)


def test_complex_numbers_whose_magnitude_overflows():
    a, b = np.array([complex(1.7e308, 1.7e308)]), np.array([complex(1.0e308, 1.7e308)])
    assert not CompareFunc.simple()(a, b)
    assert CompareFunc.simple()(a, b).stats.max_rel == pytest.approx(0.7 / math.hypot(1, 1.7))


def test_half_precision_complex_numbers_have_an_imaginary_part():
    complex32 = getattr(ml_dtypes, "complex32", None)
    if complex32 is None:
        pytest.skip("this ml_dtypes has no complex32")
    a, b = np.array([1 + 2j]).astype(complex32), np.array([1 - 2j]).astype(complex32)
    assert not CompareFunc.simple()(a, b)


def test_longdouble_loses_no_digit():
    one = np.ones(2, np.longdouble)
    following = one + np.finfo(np.longdouble).eps
    assert not CompareFunc.simple(atol=0, rtol=0)(following, one)
    assert not CompareFunc.simple()(np.array([np.finfo(np.longdouble).max]), one[:1])
    assert not CompareFunc.cosine_similarity()(-one * np.finfo(np.longdouble).tiny, one)


def test_the_smallest_integer_is_the_largest_magnitude():
    b = np.array([-128, 0], np.int8)
    assert CompareFunc.simple(atol=1e-2, rtol=0, scale_atol=True)(b + np.int8(1), b).tolerance["atol"] == 1.28


@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8"])
def test_a_whole_number_that_is_nearly_right_is_another_one(dtype):
    a, b = np.array([7, 200000], dtype), np.array([7, 200001], dtype)
    assert not CompareFunc.simple()(a, b)
    assert not CompareFunc.simple(atol=0.5)(a, b)
    assert not CompareFunc.simple("mean")(np.arange(10**6) == 5, np.zeros(10**6, bool))
    verdict = CompareFunc.simple(rtol=1e-5)(a, b)
    assert verdict.passed
    assert verdict.reason == "1 of 2 elements differs within tolerance, by at most 1"
    pair = PairComparer("mine", "ref", {"simple": CompareFunc.simple(rtol={"y": 1e-5})})
    assert pair.add({"y": a}, {"y": b})[0].reason == verdict.reason


def test_equal_whole_numbers_get_no_remark_and_real_numbers_keep_their_tolerances():
    a = np.array([7, 200000])
    assert CompareFunc.simple()(a, a).reason == ""
    assert CompareFunc.simple()(np.array([200000.5]), np.array([200000.0])).passed
    assert CompareFunc.simple().judge_metrics({"max_abs": 1.0, "max_rel": 5e-6, "required_rel": 5e-6}).passed


def test_signs_of_vectors_are_told_where_a_tensor_fails():
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    said = simple()(vectors * [1, -1, -1, 1], vectors, output="v")
    assert not said.passed
    assert "but for the sign of 2 of 4 vectors of length 1 (axis 0) they agree" in said.reason
