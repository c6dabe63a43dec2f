"""Compare functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polycmp.compare import DetailedVerdict, ErrorStats, Histogram
from polycmp.spec import Verdict
from toybox.plugin import GapOptions, SignsOptions


def make_signs(options: SignsOptions) -> Callable[..., Verdict]:
    """Return the compare function that looks at signs alone."""

    def compare(candidate: Any, reference: Any, *, output: str) -> Verdict:
        wrong = int(np.count_nonzero(np.sign(candidate) != np.sign(reference)))
        passed = wrong <= options.allowed
        return Verdict(passed, "" if passed else f"{wrong} signs of {output} differ", {"signs": wrong})

    return compare


class Gap:
    """Judges by the largest difference, or by the last."""

    def __init__(self, allowed: float = 0.0, sort: str = "largest", detail: bool = False) -> None:
        self.allowed = allowed
        self.sort = sort
        self.detail = detail

    def __call__(self, candidate: Any, reference: Any, *, output: str) -> Verdict:
        errors = np.abs(np.asarray(candidate, np.float64) - reference)
        largest = float(errors.max() if self.sort == "largest" else errors.flat[-1])
        histogram = Histogram((0.0, 1.0), (errors.size,)) if self.detail else None
        stats = ErrorStats(errors.size, max_abs=largest, histogram=histogram)
        verdict = self.judge_metrics({"gap": largest}, output=output)
        return DetailedVerdict(verdict.passed, verdict.reason, verdict.metrics, stats, {"gap": self.allowed})

    def judge_metrics(self, metrics: Mapping[str, float], *, output: str) -> Verdict:
        passed = metrics["gap"] <= self.allowed
        return Verdict(passed, "" if passed else f"a gap of {metrics['gap']:g} in {output}", metrics)


class Same:
    """Judges by all bits; there is nothing to choose."""

    def __init__(self, options: None = None) -> None:
        assert options is None

    def __call__(self, candidate: Any, reference: Any, *, output: str) -> Verdict:
        same = np.array_equal(candidate, reference)
        return Verdict(same, "" if same else f"{output} differs", {"same": float(same)})


def make_gap(options: GapOptions, *, detail: bool) -> Gap:
    """Return the compare function that looks at the largest difference."""
    return Gap(options.allowed, options.sort, detail)
