"""Quantiles without sorting a tensor, beside sorting it."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare import order
from polycmp.compare.blocks import Pair
from polycmp.compare.order import (
    approximate_quantiles,
    count_bits,
    histogram,
    octaves_of_counts,
    octaves_of_sorted,
    quantiles,
)

WANTED = (0.0, 0.5, 0.9, 0.99, 1.0)


def errors_of_candidate():
    """Take the candidate's numbers for errors."""
    return lambda candidate, _reference: candidate.astype(np.float64)


def pair_of(errors):
    return Pair(errors, np.zeros_like(errors))


def drawn(kind):
    rng = np.random.default_rng(0)
    return {
        "spread": rng.uniform(0, 1, 5000) ** 8,
        "one octave": rng.uniform(1, 1 + 1e-9, 5000),
        "mostly zeros": np.where(rng.uniform(size=5000) < 0.95, 0.0, rng.uniform(size=5000)),
        "infinities": np.where(rng.uniform(size=5000) < 0.2, np.inf, rng.uniform(size=5000)),
        "one number": np.full(5000, 0.1),
        "denormals": rng.integers(0, 9, 5000) * 5e-324,
    }[kind]


@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize("kind", ["spread", "one octave", "mostly zeros", "infinities", "one number", "denormals"])
def test_quantiles_are_those_of_the_sorted_errors(monkeypatch, kind, collected):
    errors = drawn(kind)
    expected = quantiles(pair_of(errors), errors_of_candidate, WANTED)
    ordered = np.sort(errors)
    assert (expected[0], expected[-1]) == (ordered[0], ordered[-1])
    if np.isfinite(ordered).all():
        np.testing.assert_allclose(expected, np.quantile(errors, WANTED), rtol=1e-12, atol=5e-324)
    monkeypatch.setattr(order, "SMALL", 0)
    monkeypatch.setattr(order, "_COLLECTABLE", 10**9 if collected else 0)
    assert quantiles(pair_of(errors), errors_of_candidate, WANTED) == expected


def test_approximate_quantiles_are_within_a_256th():
    errors = drawn("spread")
    shown = approximate_quantiles(count_bits(pair_of(errors), errors_of_candidate), WANTED)
    ranks = np.sort(errors)[[round(one * (errors.size - 1)) for one in WANTED]]
    np.testing.assert_allclose(shown, ranks, rtol=1 / 256)
    assert approximate_quantiles(np.zeros(1 << 18, np.int64), WANTED) == (0.0,) * 5


@pytest.mark.parametrize("kind", ["spread", "mostly zeros", "infinities"])
def test_a_histogram_counts_each_finite_error_in_its_octave(kind):
    errors = drawn(kind)
    octaves = octaves_of_sorted(np.sort(errors))
    assert octaves.tolist() == octaves_of_counts(count_bits(pair_of(errors), errors_of_candidate)).tolist()
    bins = histogram(octaves)
    assert len(bins.counts) <= 32
    assert sum(bins.counts) == np.isfinite(errors).sum()
    for low, high, count in list(zip(bins.edges, bins.edges[1:], bins.counts, strict=False))[1:]:
        assert count == ((errors >= low) & (errors < high)).sum()


@pytest.mark.parametrize("errors", [np.zeros(3), np.full(3, np.inf), np.zeros(0)])
def test_nothing_finite_but_zero_has_no_histogram(errors):
    assert histogram(octaves_of_sorted(errors)) is None
