"""Divergences beside SciPy's, and what prompts tell of others."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.special import rel_entr, softmax

from polycmp_generate.divergence import Demand, decide, divergences, interval


def test_divergences_are_those_of_scipy():
    random = np.random.default_rng(0)
    new, old = random.normal(0, 3, (2, 20, 50))
    expected = rel_entr(softmax(old, axis=-1), softmax(new, axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(divergences(new, old), expected, rtol=1e-10)
    np.testing.assert_allclose(divergences(new + 1e4, old - 1e4), divergences(new, old), rtol=1e-6)
    assert divergences(old, old).max() == 0


def test_tokens_that_are_ruled_out():
    old, both, wrong = [1.0, 2.0, -math.inf], [1.0, 2.5, -math.inf], [1.0, -math.inf, 2.0]
    assert 0 < divergences(both, old) < 0.1
    assert divergences(wrong, old) == math.inf
    assert divergences([math.nan, 1.0, 2.0], old) == math.inf


def test_the_interval_holds_what_is_true_as_often_as_it_says():
    """Means of prompts that vary as those of decoders do; 10 prompts of 30 tokens each."""
    random = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        means = random.gamma(8, 1 / 8, 10)
        sums = random.gamma(30 * 0.3, 1 / 0.3, 10) * means
        low, high = interval(sums, [30] * 10, 0.95)
        inside += low <= 1 <= high
    assert 0.92 <= inside / 2000 <= 0.97


def test_the_answer_follows_from_the_interval():
    demand = Demand(0.01, 0.95)
    assert decide([0.6, 0.5, 0.7], [30] * 3, demand).word == "worse"
    assert decide([0.06, 0.05, 0.07], [30] * 3, demand).word == "not worse"
    unsure = decide([0.6, 0.2, 0.5], [30] * 3, demand)
    assert unsure.word == "undecided"
    assert unsure.low <= 0.01 < unsure.high
    assert unsure.needed > 3
    assert decide([0.6] * 1, [30], demand).needed == 2
    assert decide([math.inf, 0.1], [30] * 2, demand).word == "worse"


def test_longer_texts_count_for_more():
    assert decide([10.0, 0.0, 0.0], [10, 500, 500], Demand()).kl == pytest.approx(10 / 1010)
