"""Divergence of the next token's probabilities, and its interval over prompts that were not tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polycmp.sentences import rounded_up

Floats = npt.NDArray[np.float64]
Word = Literal["worse", "not worse", "undecided"]
#: No more prompts than this are asked for.
_MAX_PROMPTS = 1_000_000


def divergences(new: npt.ArrayLike, old: npt.ArrayLike) -> Floats:
    """Return the Kullback-Leibler divergence of the new side's probabilities from the old side's, in nats, by row.

    Infinite where the new side rules out what the old one does not, or gives NaN.

    Args:
        new: Logits of the new side, `[…, token]`.
        old: Logits of the old side, alike.

    Source: S. Kullback, R. A. Leibler, Annals of Mathematical Statistics 22 (1951), 79-86.
    """
    from scipy.special import log_softmax

    with np.errstate(all="ignore"):
        p, q = (log_softmax(np.asarray(logits, np.float64), axis=-1) for logits in (old, new))
        terms = np.where(np.isneginf(p), 0.0, np.exp(p) * (p - q))
        sums = np.maximum(terms.sum(-1), 0.0)
    return np.asarray(np.where(np.isnan(sums), math.inf, sums))


@dataclass(frozen=True)
class Demand:
    """Demand on the new side.

    Attributes:
        max_kl: The divergence that is still well, in nats per token.
        confidence: How sure the answer is to be, as a share.
    """

    max_kl: float = 0.01
    confidence: float = 0.95


@dataclass(frozen=True)
class Decision:
    """The answer, with the figures behind it; in nats per token.

    Attributes:
        word: The answer.
        kl: The divergence over all tokens.
        low: Lower end of its interval.
        high: Upper end of its interval.
        needed: The number of prompts to take, where these do not tell; 0 if no number would do.
    """

    word: Word
    kl: float
    low: float
    high: float
    needed: int = 0


def decide(sums: Sequence[float], counts: Sequence[int], demand: Demand) -> Decision:
    """Return the answer; prompts are what is drawn, as the tokens of one go together.

    Args:
        sums: Divergence of all tokens of each prompt.
        counts: Number of tokens of each prompt.
        demand: What is asked.
    """
    kl = float(np.sum(sums) / np.sum(counts))
    if not math.isfinite(kl):
        return Decision("worse", kl, kl, kl)
    low, high = interval(sums, counts, demand.confidence)
    if low > demand.max_kl:
        return Decision("worse", kl, low, high)
    if high <= demand.max_kl:
        return Decision("not worse", kl, low, high)
    gap, half = abs(kl - demand.max_kl), (high - low) / 2
    needed = rounded_up(len(sums) * (half / gap) ** 2, _MAX_PROMPTS) if gap and math.isfinite(half) else 0
    return Decision("undecided", kl, low, high, max(needed, len(sums) + 1) if needed or len(sums) < 2 else 0)


def interval(sums: Sequence[float], counts: Sequence[int], confidence: float) -> tuple[float, float]:
    """Return the interval of a ratio of sums over prompts; one prompt tells nothing of others.

    Source: W. G. Cochran, Sampling Techniques (3rd ed., 1977), section 6.3, with Student's t.
    """
    from scipy.stats import t

    values, sizes = np.asarray(sums, np.float64), np.asarray(counts, np.float64)
    number, ratio = len(values), float(values.sum() / sizes.sum())
    if number < 2:
        return 0.0, math.inf
    rest = values - ratio * sizes
    error = math.sqrt(number / (number - 1) * float((rest**2).sum())) / float(sizes.sum())
    half = float(t.isf((1.0 - confidence) / 2, number - 1)) * error
    return max(ratio - half, 0.0), ratio + half


def two_best(logits: npt.NDArray[Any]) -> tuple[int, int]:
    """Return the tokens with the largest logit and with the next one; of equal ones the first."""
    first = int(np.argmax(logits))
    others = np.array(logits, np.float64)
    others[first] = -math.inf
    return first, int(np.argmax(others))
