"""Every compare function beside exact arithmetic, for all types, byte orders, memory layouts and block boundaries."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from exact import (
    INF,
    as_float,
    errors_of,
    log10,
    near,
    numbers,
    quantile,
    root,
    sum_of_squares,
    ulps,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from in_parts import PARTS, in_parts

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.compare.blocks import BLOCK

FLOATS = [np.dtype(item) for item in ("f2", "f4", "f8")]
LOW_FLOATS = [np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes) if name.startswith(("bfloat16", "float"))]
WHOLE = [np.dtype(item) for item in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
LOW_WHOLE = [np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes) if name.startswith(("int", "uint"))]
COMPLEX = [np.dtype(item) for item in ("c8", "c16")]
LOW_COMPLEX = [np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes) if name.endswith("complex32")]
ALL = [*FLOATS, *LOW_FLOATS, *WHOLE, *LOW_WHOLE, *COMPLEX, *LOW_COMPLEX]
REAL = [*FLOATS, *LOW_FLOATS, *WHOLE, *LOW_WHOLE]
TOLERANCES = [0.0, 1e-5, 0.25, 1.0, 3.0, 1e30]
LAYOUTS = ["C", "F", "strided", "negative", "rows reversed", "swapped bytes", "0-d", "empty"]

same = settings(deadline=None, max_examples=250 // PARTS, suppress_health_check=list(HealthCheck))


def special(dtype):
    """Return the numbers of a type that are prone to go wrong: NaN, infinities, zeros, denormals, the ends."""
    if dtype in COMPLEX or dtype in LOW_COMPLEX:
        part = np.dtype({8: "f4", 16: "f8"}.get(dtype.itemsize, "f2"))
        parts = special(part).astype(np.float64)
        with np.errstate(all="ignore"):
            grid = np.concatenate([parts + 0j, 1j * parts[np.isfinite(parts)], [complex(INF, 1), complex(INF, 1000)]])
            return np.concatenate([grid, [complex(3, 4), complex(1, INF), complex(-INF, INF)]]).astype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype in WHOLE or dtype in LOW_WHOLE:
        info = ml_dtypes.iinfo(dtype)
        ends = {int(info.min), int(info.max), int(info.max) - 1, 0, int(info.max) // 2}
        return np.array(sorted(ends)).astype(dtype) if int(info.max) < 2**63 else np.array(sorted(ends), dtype)
    info = ml_dtypes.finfo(dtype)
    found = [0.0, -0.0, 1.0, -1.0, 1 + float(info.eps), 3.0, float(info.max), -float(info.max), math.nan, INF, -INF]
    found += [float(info.smallest_subnormal), -float(info.smallest_subnormal), float(info.smallest_normal)]
    with np.errstate(all="ignore"):
        return np.array(found).astype(dtype)


@st.composite
def elements(draw, dtype, size):
    """Return numbers of a type: special ones, and any bits at all."""
    pool = special(dtype)
    picked = pool[draw(st.lists(st.integers(0, len(pool) - 1), min_size=size, max_size=size))]
    if (
        dtype.kind == "b"
        or dtype in LOW_WHOLE
        or (dtype.itemsize == 1 and dtype in LOW_FLOATS and "8" not in dtype.name)
    ):
        return picked
    raw = draw(st.binary(min_size=size * dtype.itemsize, max_size=size * dtype.itemsize))
    anything = np.frombuffer(raw, np.uint8).view(dtype)
    usual = draw(st.lists(st.integers(-100, 100), min_size=size, max_size=size))
    with np.errstate(all="ignore"):
        small = np.array(usual).astype(dtype)
    kind = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    return _choose(kind, (picked, anything, small, small))


def _choose(kind, arrays):
    chosen = arrays[0].copy()
    for number, array in enumerate(arrays):
        chosen[kind == number] = array[kind == number]
    return chosen


def neighbour(array):
    """Return the numbers whose bits are the next ones."""
    if array.dtype.kind == "b" or array.dtype.itemsize == 16 or array.dtype in LOW_WHOLE:
        return array
    if array.dtype.itemsize == 1 and array.dtype in LOW_FLOATS and "8" not in array.dtype.name:
        return array
    bits = array.view(f"u{array.dtype.itemsize}")
    return (bits ^ np.ones_like(bits)).view(array.dtype)


@st.composite
def pairs(draw, dtypes, other=None, most=12):
    """Return two arrays of one shape in some layout, as what is compared and in C order with native bytes."""
    dtype = draw(st.sampled_from(dtypes))
    layout = draw(st.sampled_from(LAYOUTS))
    size = {"0-d": 1, "empty": 0}.get(layout) if layout in ("0-d", "empty") else 2 * draw(st.integers(1, most // 2))
    second = draw(st.sampled_from(other)) if other else dtype
    b = draw(elements(second, size))
    fresh = draw(elements(dtype, size))
    if second == dtype:
        kind = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), int)
        a = _choose(kind, (b, fresh, neighbour(b), b)) if size else fresh
    else:
        a = fresh
    return (laid(a, layout), laid(b, layout)), (a, b)


def laid(array, layout):
    if layout == "0-d":
        return array.reshape(())
    if layout == "empty":
        return array.reshape(0, 3)
    if layout == "swapped bytes":
        return array.astype(array.dtype.newbyteorder(">")) if array.dtype.type.__module__ == "numpy" else array
    grid = array.reshape(2, -1)
    if layout == "F":
        return np.asfortranarray(grid)
    if layout == "strided":
        return np.repeat(grid, 3, axis=1)[:, ::3]
    if layout == "negative":
        return grid[:, ::-1].copy()[:, ::-1]
    if layout == "rows reversed":
        return grid[::-1].copy()[::-1]
    return grid


def judge(function, arrays, **more):
    verdict = function(*arrays, **more)
    assert verdict.passed is True or verdict.passed is False
    return verdict


def close(found, exact, tolerance=1e-11):
    """Assert that a figure is an exact value rounded to float64."""
    wanted = as_float(exact)
    if math.isinf(wanted):
        assert found == wanted or found > 1.7e308
    else:
        assert found == pytest.approx(wanted, rel=tolerance, abs=1e-320)


@in_parts
@same
@given(
    pairs(ALL),
    st.sampled_from([None, *TOLERANCES]),
    st.sampled_from([None, *TOLERANCES]),
    st.sampled_from(["differ", "equal", "forbid"]),
    st.booleans(),
)
def test_simple_judges_every_element_like_fractions(part, arrays, atol, rtol, nan, equal_inf):
    compared, (a, b) = arrays
    whole = a.dtype in WHOLE or a.dtype in LOW_WHOLE
    limits = [(0.0 if whole else 1e-5) if given is None else given for given in (atol, rtol)]
    exact = list(zip(numbers(a), numbers(b), strict=True))
    errors = [errors_of(x, y, equal_nan=nan == "equal", equal_inf=equal_inf) for x, y in exact]
    assume(not any(item and (near(item[0], limits[0]) or near(item[1], limits[1])) for item in errors))
    failed = sum(item is None or (item[0] > limits[0] and item[1] > limits[1]) for item in errors)
    any_nan = any(x.is_nan or y.is_nan for x, y in exact)
    function = CompareFunc.simple(atol=atol, rtol=rtol, nan=nan, infinities_compare_equal=equal_inf)
    verdict = judge(function, compared)
    assert verdict.passed == (not failed and not (nan == "forbid" and any_nan))
    stats = verdict.stats
    assert stats.failed == failed
    known = [item for item in errors if item is not None]
    if not known:
        return
    close(stats.max_abs, max(item[0] for item in known))
    close(stats.max_rel, max(item[1] for item in known))
    assert stats.nan_mismatched == sum(x.is_nan != y.is_nan for x, y in exact)


@in_parts
@same
@given(
    pairs(ALL, most=8),
    st.sampled_from(["max", "mean", "median", "quantile"]),
    st.sampled_from(TOLERANCES),
    st.sampled_from(TOLERANCES),
    st.sampled_from([0.0, 0.3, 0.99, 1.0]),
    st.booleans(),
)
def test_simple_judges_each_statistic_like_fractions(part, arrays, statistic, atol, rtol, share, equal_nan):
    compared, (a, b) = arrays
    assume(a.size)
    errors = [errors_of(x, y, equal_nan=equal_nan) for x, y in zip(numbers(a), numbers(b), strict=True)]
    known = [item for item in errors if item is not None]
    figures = []
    for kind in (0, 1):
        values = [item[kind] for item in known]
        everything = [INF if item is None else item[kind] for item in errors]
        if statistic == "max":
            figures.append(max(values, default=0))
        elif statistic == "mean":
            figures.append(INF if INF in values else sum(values, Fraction(0)) / max(len(values), 1))
        else:
            figures.append(quantile(everything, 0.5 if statistic == "median" else share))
    assume(not any(near(figure, limit) for figure, limit in zip(figures, (atol, rtol), strict=True)))
    function = CompareFunc.simple(
        statistic, atol=atol, rtol=rtol, error_quantile=share, nan="equal" if equal_nan else "differ"
    )
    verdict = judge(function, compared)
    infinite = any(item[0] == INF for item in known)
    expected = len(known) == len(errors) and not infinite and (figures[0] <= atol or figures[1] <= rtol)
    assert verdict.passed == expected
    for name, figure in zip(("abs", "rel"), figures, strict=True):
        if as_float(figure) < 1e307:  # the sum of such errors may be beyond float64, and only fail
            close(verdict.metrics[f"{statistic}_{name}"], figure)


@pytest.mark.parametrize("statistic", ["max", "mean", "median", "quantile"])
def test_an_error_that_is_halved_to_nothing_is_one(statistic):
    """Half of the smallest number is 0 in float64, and 0 is within every tolerance."""
    a, b = np.array([0.0, 5e-324]), np.zeros(2)
    function = CompareFunc.simple(statistic, atol=0.0, rtol=0.0, error_quantile=0.5)
    assert not judge(function, (a, b)).passed


@in_parts
@same
@given(pairs(REAL, REAL) | pairs(REAL), st.sampled_from([0, 1, 4, 1000]))
def test_ulp_counts_representable_numbers(part, arrays, allowed):
    compared, (a, b) = arrays
    assume("e8m0" not in a.dtype.name + b.dtype.name)
    distances = [ulps(x, y, a.dtype, b.dtype) for x, y in zip(numbers(a), numbers(b), strict=True)]
    mixed = ("float" in a.dtype.name) != ("float" in b.dtype.name)
    assume(not mixed or all(distance < 2**50 for distance in distances))
    verdict = judge(CompareFunc.ulp(allowed), compared)
    assert verdict.passed == all(distance <= allowed for distance in distances)
    close(verdict.metrics["max_ulp"], Fraction(max(distances, default=0)) if INF not in distances else INF)


def _norm(name, left, right, count):
    """Return an exact norm of finite numbers as float64; complex numbers count as pairs of real ones."""
    apart = sum_of_squares(type(x)(x.real - y.real, x.imag - y.imag) for x, y in zip(left, right, strict=True))
    signal = sum_of_squares(right)
    if name == "l2":
        return as_float(root(apart))
    if name == "cosine_similarity":
        size = sum_of_squares(left)
        if not size or not signal:
            return 1.0 if size == signal else 0.0
        dot = sum((x.real * y.real + x.imag * y.imag for x, y in zip(left, right, strict=True)), Fraction(0))
        return float(dot / root(size * signal))
    if not apart:
        return INF
    if name == "snr":
        return 10 * log10(signal / apart) if signal else -INF
    peak = max(max(abs(x.real), abs(x.imag)) for x in right)
    return 10 * log10(peak**2 * count / apart) if peak else -INF


@in_parts
@same
@given(pairs(ALL), st.sampled_from(["l2", "cosine_similarity", "psnr", "snr"]))
def test_norms_agree_with_fractions(part, arrays, name):
    compared, (a, b) = arrays
    assume(a.size)
    left, right = numbers(a), numbers(b)
    verdict = judge(getattr(CompareFunc, name)(), compared)
    if not all(item.is_finite for item in [*left, *right]):
        assert not verdict
        return
    wanted = _norm(name, left, right, a.size * (2 if "complex" in a.dtype.name else 1))
    found = verdict.metrics[name]
    if name == "l2":
        close(found, Fraction(wanted) if wanted < INF else INF)
    else:
        assert found == pytest.approx(wanted, abs=1e-9)
    threshold = {"l2": 1e-5, "cosine_similarity": 0.997, "psnr": 30.0, "snr": 20.0}[name]
    if abs(wanted - threshold) > 1e-8:
        assert verdict.passed == (wanted <= threshold if name == "l2" else wanted >= threshold)


def _rows(items, length):
    return [items[start : start + length] for start in range(0, len(items), length)]


@in_parts
@same
@given(pairs(ALL), st.integers(0, 4))
def test_indices_agree_with_looking_each_one_up(part, arrays, tolerance):
    compared, (a, b) = arrays
    length = compared[0].shape[-1] if compared[0].ndim else 1
    left, right = (_rows(numbers(x), length) for x in (a, b))
    moved = 0
    for mine, theirs in zip(left, right, strict=True):
        for place, value in enumerate(mine[: max(length - tolerance, 0)]):
            places = [i for i, item in enumerate(theirs) if item == value and not value.is_nan]
            if not (place in places or (places and abs(places[0] - place) <= tolerance)):
                moved += 1
    verdict = judge(CompareFunc.indices(tolerance), compared)
    assert verdict.passed == (a.size == 0 or (tolerance < length and not moved))


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    pairs([*FLOATS, *COMPLEX, np.dtype(ml_dtypes.bfloat16), np.dtype("i8"), np.dtype("u1")]),
    st.sampled_from([0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 16 * BLOCK + 3]),
    st.booleans(),
)
def test_a_difference_is_found_on_every_side_of_a_block_boundary(arrays, before, swapped):
    _, (a, b) = arrays
    assume(a.size)
    same_everywhere = np.ones(before, a.dtype)
    left, right = (np.concatenate([same_everywhere, x, same_everywhere[:7]]) for x in (a, b))
    if swapped and a.dtype.type.__module__ == "numpy":
        left = left.astype(left.dtype.newbyteorder(">"))
    errors = [errors_of(x, y) for x, y in zip(numbers(a), numbers(b), strict=True)]
    whole = a.dtype.kind in "iu"
    limit = 0.0 if whole else 1e-5
    assume(not any(item and (near(item[0], limit) or near(item[1], limit)) for item in errors))
    failed = sum(item is None or (item[0] > limit and item[1] > limit) for item in errors)
    stats = judge(CompareFunc.simple(), (left, right)).stats
    assert stats.failed == failed
    assert stats.count == left.size
    if failed:
        assert before <= stats.worst.index[0] < before + a.size
    if a.dtype.kind != "c":
        distances = [ulps(x, y, a.dtype, b.dtype) for x, y in zip(numbers(a), numbers(b), strict=True)]
        assert judge(CompareFunc.ulp(0), (left, right)).passed == (max(distances) == 0)
    moved = sum(x != y or x.is_nan for x, y in zip(numbers(a), numbers(b), strict=True))
    assert judge(CompareFunc.indices(), (left, right)).metrics["moved"] == moved
