"""How sure a difference is: beside statsmodels, and on samples whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from polycmp_decide.decision import (
    Demand,
    decide,
    mcnemar_p,
    needed_samples,
    power,
    tango_interval,
    visible_drop,
)
from polycmp_decide.scores import hits, ratios
from polycmp_decide.sentences import answer

ALPHA = 0.05


def counted(number, lost, won):
    """Return hits of which so many are lost and won."""
    new = [0] * lost + [1] * (number - lost)
    old = [1] * lost + [0] * won + [1] * (number - lost - won)
    return hits(new, old)


def means(new, old):
    """Return scores whose total is their mean."""
    return ratios(
        *(np.stack([item, np.ones_like(item)], -1) for item in (new, old)), lambda sums: sums[..., 0] / sums[..., 1]
    )


def test_the_example_of_the_page():
    decision = decide(counted(1000, 41, 12), Demand())
    assert decision.word == "worse"
    assert decision.p == pytest.approx(8.17e-5, rel=1e-3)
    assert decision.drop == pytest.approx(0.029)
    assert decision.low < 0.029 < decision.high


@pytest.mark.parametrize(("lost", "won"), [(41, 12), (12, 41), (3, 3), (0, 6), (1, 9), (1, 0), (500, 420)])
def test_p_is_that_of_statsmodels(lost, won):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    assert mcnemar_p(lost, won) == pytest.approx(tables.mcnemar([[0, lost], [won, 0]], exact=True).pvalue, abs=1e-9)


@pytest.mark.parametrize(("lost", "won"), [(41, 12), (3, 3), (0, 6), (30, 18)])
def test_the_interval_ends_where_the_score_test_rejects(lost, won):
    """At a confidence of 1 - p of the test without a correction one end is 0."""
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    p = tables.mcnemar([[0, lost], [won, 0]], exact=False, correction=False).pvalue
    if p < 1:
        ends = tango_interval(lost, won, 200, 1 - p)
        assert min(map(abs, ends)) == pytest.approx(0, abs=1e-9)
    low, high = tango_interval(lost, won, 200, 0.95)
    assert low < (lost - won) / 200 < high


def test_where_nothing_changes_the_interval_is_that_of_no_case_at_all():
    """Tango's score is then -n d / sqrt(n d (1 - d)), which is z at d = z^2 / (n + z^2)."""
    bound = 1.959963984540054**2
    low, high = tango_interval(0, 0, 200, 0.95)
    assert high == -low == pytest.approx(bound / (200 + bound), abs=1e-9)
    everything = np.full(200, 0.7)
    assert decide(means(everything, everything), Demand(0.02)).word == "not worse"
    assert decide(means(everything, everything), Demand(0.01)).word == "undecided"


def test_all_lost_is_worse():
    decision = decide(counted(20, 20, 0), Demand())
    assert (decision.word, decision.high) == ("worse", 1.0)
    assert decide(counted(1, 1, 0), Demand()).word == "undecided"
    assert decide(means(np.array([0.2]), np.array([0.9])), Demand()).word == "undecided"
    assert decide(means(np.array([0.2, 0.1]), np.array([0.9, 0.9])), Demand()).word == "undecided"


def test_more_samples_show_a_smaller_drop():
    drops = [visible_drop(number, 0.05, ALPHA) for number in (50, 200, 1000, 5000)]
    assert drops == sorted(drops, reverse=True)
    for drop in drops[1:]:
        number = needed_samples(drop, 0.05, ALPHA)
        assert power(drop, number, 0.05, ALPHA) >= 0.8
        assert power(drop, number // 2, 0.05, ALPHA) < 0.8
    assert needed_samples(0.0, 0.05, ALPHA) == 0
    assert power(0.0, 200, 0.05, ALPHA) <= ALPHA / 2


def test_scores_that_drop_on_each_sample_are_worse():
    old = np.random.default_rng(0).uniform(0.5, 1, 50)
    decision = decide(means(old - 0.02, old), Demand())
    assert decision.word == "worse"
    assert decision.drop == pytest.approx(0.02)
    assert decision.p < 0.001
    assert decide(means(old, old - 0.02), Demand()).word == "not worse"


def test_the_p_of_means_is_that_of_all_exchanges():
    """Of eight samples there are 256 exchanges; counted here one by one."""
    rng = np.random.default_rng(1)
    new, old = rng.random(8), rng.random(8)
    signs = 1 - 2 * ((np.arange(256)[:, None] >> np.arange(8)) & 1)
    found = (signs * (old - new)).mean(1)
    real = (old - new).mean()
    one = min((found >= real - 1e-12).mean(), (found <= real + 1e-12).mean())
    assert decide(means(new, old), Demand()).p == pytest.approx(min(2 * one, 1), abs=1e-9)


@cache
def word_of(number, lost, won, limit):
    return decide(counted(number, lost, won), Demand(limit)).word


def words_of(number, changing, drop, limit, times=10_000, seed=0):
    """Return the share of each answer over drawn samples."""
    chances = [(changing + drop) / 2, (changing - drop) / 2, 1 - changing]
    drawn = np.random.default_rng(seed).multinomial(number, chances, size=times)
    words = [word_of(number, int(lost), int(won), limit) for lost, won, _ in drawn]
    return {word: words.count(word) / times for word in ("worse", "not worse", "undecided")}


@pytest.mark.corpus
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("number", "changing"), [(50, 0.2), (200, 0.05)])
def test_of_10_000_equal_pairs_hardly_any_is_accused_and_of_planted_drops_four_of_five(number, changing):
    assert words_of(number, changing, 0.0, 0.0)["worse"] <= ALPHA
    drop = visible_drop(number, changing, ALPHA)
    # Ten thousand draws are off by up to three times 0.4 per cent.
    assert words_of(number, max(changing, drop), drop, 0.0)["worse"] >= 0.8 - 0.012
    at_limit = words_of(number, max(changing, drop), drop, drop)
    assert at_limit["worse"] <= ALPHA
    assert at_limit["not worse"] <= ALPHA


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_of_equal_means_hardly_any_is_accused_and_of_planted_drops_four_of_five():
    rng = np.random.default_rng(0)
    number, deviation = 60, 0.07
    times = 400
    drop = 0.0
    for planted in (False, True):
        found = []
        for _ in range(times):
            old = rng.uniform(0.3, 0.9, number)
            new = old + rng.normal(0, deviation, number) - drop
            found.append(decide(replace(means(new, old), resamples=1999), Demand(0.0)))
        worse = sum(item.word == "worse" for item in found) / times
        if planted:
            assert worse >= 0.8 - 0.06  # three times what 400 draws are off by
        else:
            assert worse <= ALPHA
            assert sum(item.word == "not worse" for item in found) / times <= ALPHA + 0.03
        drop = float(np.median([item.visible for item in found]))


def test_a_new_side_that_is_better_has_no_drop_to_name():
    scores = hits(np.ones(400), np.arange(400) % 5 > 0)
    assert answer(decide(scores, Demand()), scores, Demand()).endswith("; a drop is ruled out (95 % sure)")
