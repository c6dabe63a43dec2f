"""Decision whether a drop is more than chance, and how large a drop the samples can show."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polycmp.sentences import rounded_up
from polycmp_decide.scores import Floats, Places, Scores

#: How often a drop that "can be seen" is: a choice, the one that is usual for sizes of samples.
POWER = 0.8
#: Resamples that are made at the same time, so that memory stays small.
_BATCH = 100
#: No more samples than this are asked for.
_MAX_SAMPLES = 10_000_000
_SEED = 0

Word = Literal["worse", "not worse", "undecided"]


@dataclass(frozen=True)
class Demand:
    """Demand on the new side.

    Attributes:
        max_drop: The drop that is still well, as a share.
        confidence: How sure the answer is to be, as a share.
    """

    max_drop: float = 0.005
    confidence: float = 0.95


@dataclass(frozen=True)
class Decision:
    """The answer, with the figures behind it; drops are shares of 1.

    Attributes:
        word: The answer.
        p: Probability of a difference so large where there is none, two-sided.
        drop: How much lower the new side scores.
        low: Lower end of the interval of the drop.
        high: Upper end of the interval of the drop.
        visible: The smallest drop that these samples would show four times of five.
        needed: The number of samples to take, where these do not tell; 0 if no number would do.
    """

    word: Word
    p: float
    drop: float
    low: float
    high: float
    visible: float
    needed: int = 0


def decide(scores: Scores, demand: Demand) -> Decision:
    """Return the answer.

    Args:
        scores: The scores of both sides; of one sample at least.
        demand: What is asked.
    """
    new, old = scores.totals
    alpha = 1.0 - demand.confidence
    # A score that no sample changes, or one sample, has no spread to measure: it could miss what hits could miss.
    if scores.is_hit or not scores.lost + scores.won or scores.number < 2:
        judge: _Hits | _Means = _Hits(scores.number, scores.lost, scores.won, alpha)
    else:
        judge = _Means(scores, alpha)
    p, (low, high) = judge.p(), judge.interval()
    significant = p < alpha
    # Where no drop at all is well, p alone decides; the ends of the interval are not as exact.
    above = low > demand.max_drop if demand.max_drop else old > new
    word: Word = "worse" if significant and above else "undecided"
    word = "not worse" if high <= demand.max_drop else word
    needed = 0
    if word == "undecided":
        gap = abs(demand.max_drop - (old - new)) if significant else demand.max_drop
        needed = judge.needed(gap)
        if needed <= scores.number:  # a drop of that size would be seen; where between it lies is what is not
            needed = judge.needed(abs(demand.max_drop - (old - new)))
    return Decision(word, p, old - new, low, high, judge.visible(), needed)


class _Hits:
    """Judges samples that are hits or none.

    Args:
        number: Number of samples.
        lost: Those that only the old side hits.
        won: Those that only the new side hits.
        alpha: Probability of an error that is accepted.
    """

    def __init__(self, number: int, lost: int, won: int, alpha: float) -> None:
        self._number, self._lost, self._won, self._alpha = number, lost, won, alpha

    def p(self) -> float:
        return mcnemar_p(self._lost, self._won)

    def interval(self) -> tuple[float, float]:
        return tango_interval(self._lost, self._won, self._number, 1.0 - self._alpha)

    def visible(self) -> float:
        return visible_drop(self._number, (self._lost + self._won) / self._number, self._alpha)

    def needed(self, drop: float) -> int:
        return needed_samples(drop, (self._lost + self._won) / self._number, self._alpha)


class _Means:
    """Judges samples with scores of any size, by permutations and the bootstrap.

    Args:
        scores: The scores.
        alpha: Probability of an error that is accepted.
    """

    def __init__(self, scores: Scores, alpha: float) -> None:
        self._scores, self._alpha = scores, alpha
        self._result = self._bootstrap()

    def p(self) -> float:
        """Return the share of exchanges of the two sides, sample by sample, that make as large a difference."""
        from scipy.stats import permutation_test

        total, places = self._scores.total, np.arange(self._scores.number)

        def difference(one: Places, two: Places, axis: int) -> Floats:
            return total(np.moveaxis(two, axis, -1)) - total(np.moveaxis(one, axis, -1))

        result = permutation_test(
            (places, places + len(places)), difference, permutation_type="samples", vectorized=True,
            n_resamples=self._scores.resamples, batch=_BATCH, random_state=np.random.default_rng(_SEED),
        )  # fmt: skip
        return float(result.pvalue)

    def interval(self) -> tuple[float, float]:
        return float(self._result.confidence_interval.low), float(self._result.confidence_interval.high)

    def visible(self) -> float:
        from scipy.stats import t

        number = self._scores.number
        # The spread is estimated from the samples, and by the bootstrap a little too small.
        deviations = float(t.isf(self._alpha / 2, number - 1) + t.ppf(POWER, number - 1))
        return min(deviations * float(self._result.standard_error) * math.sqrt(number / (number - 1)), 1.0)

    def needed(self, drop: float) -> int:
        return rounded_up(self._scores.number * (self.visible() / drop) ** 2, _MAX_SAMPLES) if drop else 0

    def _bootstrap(self) -> Any:
        from scipy.stats import bootstrap

        total, number = self._scores.total, self._scores.number

        def drop(places: Places, axis: int) -> Floats:
            places = np.moveaxis(places, axis, -1)
            return total(places + number) - total(places)

        def interval_by(method: str) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns where the interval is NaN, which is looked at below
                return bootstrap(
                    (np.arange(number),), drop, vectorized=True, n_resamples=self._scores.resamples, batch=_BATCH,
                    confidence_level=1.0 - self._alpha, method=method, random_state=np.random.default_rng(_SEED),
                )  # fmt: skip

        best = interval_by("BCa")
        known = math.isfinite(best.confidence_interval.low) and math.isfinite(best.confidence_interval.high)
        return best if known else interval_by("percentile")


def mcnemar_p(lost: int, won: int) -> float:
    """Return McNemar's exact p, two-sided: of so uneven a split where either side is as likely.

    Source: Q. McNemar, Psychometrika 12 (1947), 153-157, with the binomial distribution in place of chi-squared.
    """
    from scipy.stats import binomtest

    return float(binomtest(lost, lost + won).pvalue) if lost + won else 1.0


def tango_interval(lost: int, won: int, number: int, confidence: float) -> tuple[float, float]:
    """Return the interval of the difference of two shares that were counted on the same samples.

    Source: T. Tango, Statistics in Medicine 17 (1998), 891-908: the differences that the score test does not reject.
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    z = float(norm.isf((1.0 - confidence) / 2))
    drop = (lost - won) / number

    def excess(delta: float) -> float:
        return _score(lost, won, number, delta) ** 2 - z**2

    edge = 1.0 - 1e-12
    low = -1.0 if excess(-edge) < 0 or drop <= -edge else float(brentq(excess, -edge, drop, xtol=1e-12))
    high = 1.0 if excess(edge) < 0 or drop >= edge else float(brentq(excess, drop, edge, xtol=1e-12))
    return low, high


def _score(lost: int, won: int, number: int, delta: float) -> float:
    """Return Tango's statistic for a difference; normal where that is the true one."""
    a, b, c = 2 * number, (2 * number - lost + won) * delta - lost - won, -won * delta * (1 - delta)
    share = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = number * (2 * share + delta * (1 - delta))
    difference = lost - won - number * delta
    return (
        difference / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, difference) if difference else 0.0
    )


def power(drop: float, number: int, changing: float, alpha: float) -> float:
    """Return the probability that McNemar's exact test shows a drop.

    Args:
        drop: The drop, as a share of the samples.
        number: Number of samples.
        changing: Share of the samples that only one side hits; at least the drop.
        alpha: Probability of an error that is accepted.
    """
    from scipy.stats import binom

    changing = max(changing, drop)
    if changing <= 0:
        return 0.0
    spread = 8 * math.sqrt(number * changing * (1 - changing)) + 1
    counts = np.arange(max(int(number * changing - spread), 0), min(int(number * changing + spread) + 1, number) + 1)
    fewest = binom.isf(alpha / 2, counts, 0.5) + 1  # of so many that change, so many lost are significant
    lost = binom.sf(fewest - 1, counts, (changing + drop) / (2 * changing))
    return float((binom.pmf(counts, number, changing) * lost).sum())


def visible_drop(number: int, changing: float, alpha: float) -> float:
    """Return the smallest drop that shows four times of five; 1 if none does.

    Args:
        number: Number of samples.
        changing: Share of the samples that only one side hits.
        alpha: Probability of an error that is accepted.
    """
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle, number, changing, alpha) >= POWER else (middle, high)
    return high


def needed_samples(drop: float, changing: float, alpha: float) -> int:
    """Return the number of samples of which a drop shows four times of five, to two digits; 0 if none would do.

    Args:
        drop: The drop, as a share of the samples.
        changing: Share of the samples that only one side hits.
        alpha: Probability of an error that is accepted.
    """
    if drop <= 0:
        return 0
    low, high = 1, 2
    while power(drop, high, changing, alpha) < POWER:
        low, high = high, high * 2
        if high > _MAX_SAMPLES:
            return 0
    while high - low > max(low // 200, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if power(drop, middle, changing, alpha) >= POWER else (middle, high)
    return rounded_up(high, _MAX_SAMPLES)
