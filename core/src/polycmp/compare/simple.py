"""The compare function `simple`: absolute and relative error of each element, or a statistic of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.blocks import Pair
from polycmp.compare.statistics import Limits, Sums, gather
from polycmp.compare.strings import compare_strings
from polycmp.compare.verdicts import DetailedVerdict, ErrorStats, Worst
from polycmp.tensors import dtype_class, to_numpy
from polycmp.values import pick

if TYPE_CHECKING:
    from polycmp.builtin import SimpleOptions

Array = NDArray[Any]


@dataclass(frozen=True)
class Simple:
    """Judge an output by `|candidate - reference|` and by that divided by `|reference|`.

    Args:
        options: Tolerances and statistics, per output.
        detail: Whether to compute what only a report shows, too.
    """

    options: SimpleOptions
    detail: bool = False

    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> DetailedVerdict:
        """Return the verdict on one output.

        Args:
            candidate: The array to judge.
            reference: What it should be; relative errors are relative to it.
            output: The output's name, for tolerances of its own.
        """
        a, b = to_numpy(candidate), to_numpy(reference)
        options = self.options
        limits = Limits(
            pick(options.atol, output, 1e-5),
            pick(options.rtol, output, 1e-5),
            options.nan == "equal",
            options.infinities_compare_equal,
        )
        tolerance = {"atol": limits.atol, "rtol": limits.rtol}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        if dtype_class(a.dtype) == "string" or dtype_class(b.dtype) == "string":
            return replace(compare_strings(a, b), tolerance=tolerance)
        pair = Pair(a, b)
        sums = gather(pair, limits)
        stats = _stats(pair, sums)
        return self._judge(sums, stats, limits, output)

    def _judge(self, sums: Sums, stats: ErrorStats, limits: Limits, output: str) -> DetailedVerdict:
        reasons = nan_reasons(sums, self.options.nan)
        metrics = {"max_abs": stats.max_abs, "max_rel": stats.max_rel}
        for statistic in pick(self.options.check_error_stat, output, ("elemwise",)):
            reason = self._check(statistic, stats, limits)
            if reason:
                reasons.append(reason)
        tolerance = {"atol": limits.atol, "rtol": limits.rtol}
        return DetailedVerdict(not reasons, "; ".join(reasons), metrics, stats, tolerance)

    def _check(self, statistic: str, stats: ErrorStats, limits: Limits) -> str:
        if statistic == "elemwise":
            return elementwise_reason(stats)
        of_abs, of_rel = {
            "max": (stats.max_abs, stats.max_rel),
            "mean": (stats.mean_abs, stats.mean_rel),
        }[statistic]
        if of_abs <= limits.atol or of_rel <= limits.rtol:
            return ""
        return (
            f"{statistic} error is {of_abs:.5g} absolute, {of_rel:.5g} relative "
            f"(allowed: {limits.atol:g}, {limits.rtol:g})"
        )


def shape_reason(candidate: Array, reference: Array) -> str:
    """Return in words that two shapes differ."""
    return f"shape {list(candidate.shape)} instead of {list(reference.shape)}"


def nan_reasons(sums: Sums, policy: str) -> list[str]:
    """Return in words why NaNs fail, if they do."""
    found = sums.nan_candidate or sums.nan_reference
    if not found or (policy != "forbid" and not sums.nan_failed):
        return []
    where = f"{sums.nan_candidate} NaN in the candidate, {sums.nan_reference} in the reference"
    if sums.nan_candidate and not sums.nan_reference:
        where = f"{sums.nan_candidate} NaN in the candidate where the reference has none"
    elif sums.nan_reference and not sums.nan_candidate:
        where = f"{sums.nan_reference} NaN in the reference where the candidate has none"
    return [where + {"forbid": "; NaN is forbidden", "differ": "; NaN differs from everything", "equal": ""}[policy]]


def elementwise_reason(stats: ErrorStats) -> str:
    """Return in words how many elements failed and which is the worst, or nothing."""
    if not stats.failed or stats.worst is None:
        return ""
    worst = stats.worst
    at = f" at {list(worst.index)}" if worst.index else ""
    return (
        f"{stats.failed} of {stats.count} elements differ by more than both tolerances, the worst{at}: "
        f"{_show(worst.candidate)} instead of {_show(worst.reference)}; "
        f"it would pass with atol {stats.required_abs:.5g} or rtol {stats.required_rel:.5g}"
    )


def _show(value: float | int | str | bool) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def as_scalar(value: Any) -> float | int | str | bool:
    """Return an element as a Python scalar; complex numbers as text."""
    kind = dtype_class(np.asarray(value).dtype)
    if kind == "float":
        return float(value)
    if kind == "integer":
        return int(value)
    return bool(value) if kind == "bool" else str(value)


def _stats(pair: Pair, sums: Sums) -> ErrorStats:
    at = sums.worst if sums.worst >= 0 else sums.largest_at
    worst = None
    if at >= 0:
        index, candidate, reference = pair.values_at(at)
        worst = Worst(index, as_scalar(candidate), as_scalar(reference))
    count = max(sums.finite, 1)
    lost = sums.nan_failed > 0
    return ErrorStats(
        count=pair.size,
        failed=sums.failed,
        max_abs=sums.max_abs,
        mean_abs=sums.sum_abs / count,
        max_rel=sums.max_rel,
        mean_rel=sums.sum_rel / count,
        required_abs=math.inf if lost else sums.max_abs,
        required_rel=math.inf if lost else sums.max_rel,
        worst=worst,
        nan_candidate=sums.nan_candidate,
        nan_reference=sums.nan_reference,
    )
