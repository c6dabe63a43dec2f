"""The scores of both sides on the same samples, and of any selection of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Scores:
    """Scores of two sides on the same samples.

    Attributes:
        new: Score of each sample by the new side, between 0 and 1.
        old: Likewise by the old side.
        total: Score of a selection: of places of samples along the last axis, those of the old side counted on behind
            those of the new one.
        is_hit: Whether a sample is a hit or none, and the score their share.
        resamples: Number of permutations and of bootstrap samples; p is no smaller than one in so many.
    """

    new: Floats
    old: Floats
    total: Callable[[Places], Floats]
    is_hit: bool = False
    resamples: int = 4999

    @property
    def number(self) -> int:
        """The number of samples."""
        return len(self.new)

    @property
    def totals(self) -> tuple[float, float]:
        """The score of the new side and of the old one, on all samples."""
        places = np.arange(self.number)
        return float(self.total(places)), float(self.total(places + self.number))

    @property
    def lost(self) -> int:
        """The number of samples on which the new side scores lower."""
        return int((self.new < self.old).sum())

    @property
    def won(self) -> int:
        """The number of samples on which the new side scores higher."""
        return int((self.new > self.old).sum())


def hits(new: Any, old: Any) -> Scores:
    """Return the scores of samples that are hits or none."""
    both = np.concatenate([np.asarray(new, np.float64), np.asarray(old, np.float64)])
    number = len(both) // 2
    return Scores(both[:number], both[number:], lambda places: both[places].mean(-1), is_hit=True)


def ratios(new: Any, old: Any, ratio: Callable[[Floats], Floats]) -> Scores:
    """Return scores that are a ratio of sums over samples.

    Args:
        new: What each sample adds, a row for each, of the new side.
        old: Likewise of the old side.
        ratio: Makes the score of sums along the last axis.
    """
    both = np.concatenate([np.asarray(new, np.float64), np.asarray(old, np.float64)])
    each = ratio(both)
    number = len(both) // 2
    return Scores(each[:number], each[number:], lambda places: ratio(_sums(both, places)))


def _sums(rows: Floats, places: Places) -> Floats:
    """Return the sums of rows at places; counted first, so that no copy of the rows is made for each selection."""
    flat = places.reshape(-1, places.shape[-1])
    counts = np.zeros((len(flat), len(rows)))
    np.add.at(counts, (np.arange(len(flat))[:, None], flat), 1.0)
    return (counts @ rows).reshape(*places.shape[:-1], rows.shape[1])
