"""Judging the errors of an output by their figures alone, without the tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.compare.averages import require_metric
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.compare.words import passing_tolerances
from polycmp.errors import ComparisonError
from polycmp.values import pick

if TYPE_CHECKING:
    from polycmp.builtin_options import SimpleOptions


def judge_errors(options: SimpleOptions, metrics: Mapping[str, float], output: str) -> DetailedVerdict:
    """Return the verdict of `simple` on figures.

    Statistics are held against the tolerances like those of tensors. Whether every element passes is only known if one
    tolerance alone lets all of them pass, or if the element that is known fails both.

    Raises:
        ComparisonError: The figures do not tell.
    """
    atol, rtol = tolerances(options, output, whole=bool(metrics.get("whole")))
    reasons = [_nan_reason(options.nan, metrics, output)]
    if not any(reasons):
        figures = _figures(options, metrics, output, atol, rtol)
        reasons += (_check(statistic, figures) for statistic in pick(options.check_error_stat, output, ("elemwise",)))
    text = "; ".join(filter(None, reasons))
    return DetailedVerdict(not text, text, dict(metrics), None, {"atol": atol, "rtol": rtol})


def tolerances(options: SimpleOptions, output: str, *, whole: bool) -> tuple[float, float]:
    """Return the absolute and the relative tolerance of an output.

    Args:
        options: The tolerances that were given.
        output: The output's name.
        whole: Whether both sides hold whole numbers or booleans; where nothing is given those are compared exactly.
    """
    default = 0.0 if whole else 1e-5
    return pick(options.atol, output, default), pick(options.rtol, output, default)


@dataclass(frozen=True)
class _Figures:
    """What is known of an output, and the tolerances.

    Attributes:
        metrics: Figures by name.
        output: The output's name.
        atol: Absolute tolerance.
        rtol: Relative tolerance.
        too_large: Whether NaN or infinities count in the figures that are equal now.
        too_small: Whether infinities do not count in the figures that differ now.
    """

    metrics: Mapping[str, float]
    output: str
    atol: float
    rtol: float
    too_large: bool
    too_small: bool

    def pair(self, name: str) -> tuple[float, float]:
        """Return a figure of the absolute and of the relative errors."""
        of_abs, of_rel = (require_metric(self.metrics, f"{name}_{kind}", self.output) for kind in ("abs", "rel"))
        return of_abs, of_rel

    def passes(self, figures: tuple[float, float]) -> bool:
        return figures[0] <= self.atol or figures[1] <= self.rtol


def _figures(options: SimpleOptions, metrics: Mapping[str, float], output: str, atol: float, rtol: float) -> _Figures:
    forgiven = metrics.get("inf_forgiven", 0.0)
    nans = options.nan == "equal" and metrics.get("nan_failed", 0.0) > 0
    infinities = options.infinities_compare_equal and metrics.get("inf_matched", 0.0) > forgiven
    too_small = not options.infinities_compare_equal and forgiven > 0
    return _Figures(metrics, output, atol, rtol, nans or infinities, too_small)


def _nan_reason(policy: str, metrics: Mapping[str, float], output: str) -> str:
    nans = metrics.get("nan_candidate", 0.0), metrics.get("nan_reference", 0.0)
    if not any(nans):
        return ""
    text = f"NaN: {nans[0]:g} in the candidate, {nans[1]:g} in the reference"
    if policy != "equal":
        return f"{text} (--nan {policy})"
    if nans[0] != nans[1]:
        return text
    if "nan_mismatched" not in metrics:
        raise ComparisonError(
            f"output {output!r} cannot be judged so: both sides hold equally many NaNs",
            why="the figures do not tell whether those are at the same places; an older polycmp saved them",
            hint="run the models again: polycmp run … --save-accuracy-results FILE",
        )
    mismatched = metrics["nan_mismatched"]
    return f"{text}, {mismatched:g} of them where the other side has a number" if mismatched else ""


def _check(statistic: str, known: _Figures) -> str:
    return _elementwise(known) if statistic == "elemwise" else _statistic(statistic, known)


def _statistic(statistic: str, known: _Figures) -> str:
    figures = known.pair(statistic)
    if known.too_small:
        if statistic in {"median", "quantile"}:
            raise _taken_otherwise(known)
        return _INFINITIES
    if known.passes(figures):
        return ""
    if known.too_large and (statistic != "max" or math.inf in figures):
        raise _taken_otherwise(known)
    return (
        f"the {statistic} error is {figures[0]:.5g} absolute and {figures[1]:.5g} relative "
        f"(allowed are {known.atol:g} and {known.rtol:g})"
    )


_INFINITIES = "infinities on both sides differ (--infinities-compare-equal makes them equal)"


def _taken_otherwise(known: _Figures) -> ComparisonError:
    return ComparisonError(
        f"output {known.output!r} cannot be judged so from its figures",
        why="it holds NaN or infinity on both sides, which these options take otherwise than those of the run",
        hint="run the models again with these options: polycmp run … --save-accuracy-results FILE",
    )


def _elementwise(known: _Figures) -> str:
    atol, rtol = known.atol, known.rtol
    if known.too_small:
        return _INFINITIES
    needed = known.pair("max")
    if not known.too_large:  # NaN is no part of the largest error, but of what would have to be allowed
        needed = known.metrics.get("required_abs", needed[0]), known.metrics.get("required_rel", needed[1])
    if known.passes(needed):
        return ""
    if known.too_large and math.inf in needed:
        raise _taken_otherwise(known)
    enough = passing_tolerances(*needed)
    if not enough:
        return "NaN or infinity on one side: no tolerance would do"
    worst = known.metrics.get("worst_abs", 0.0), known.metrics.get("worst_rel", 0.0)
    if (worst[0] > atol and worst[1] > rtol) or atol == 0.0 or rtol == 0.0:
        return f"some elements differ by more than both tolerances; {enough} passes"
    raise ComparisonError(
        f"whether output {known.output!r} passes with atol {atol:g} and rtol {rtol:g} cannot be told from its figures",
        why=f"each element may pass by either tolerance; alone, {enough} would do",
        hint=f"give --atol {needed[0]} or more, judge a statistic (--check-error-stat max), or run the models again",
    )
