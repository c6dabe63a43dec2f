"""Judging the errors of an output by their figures alone, without the tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from polycmp.compare.averages import require_metric
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.errors import ComparisonError
from polycmp.values import pick

if TYPE_CHECKING:
    from polycmp.builtin import SimpleOptions


def judge_errors(options: SimpleOptions, metrics: Mapping[str, float], output: str) -> DetailedVerdict:
    """Return the verdict of `simple` on figures.

    Statistics are held against the tolerances like those of tensors. Whether every element passes is only known if one
    tolerance alone lets all of them pass, or if the element that is known fails both.

    Raises:
        ComparisonError: The figures do not tell.
    """
    atol, rtol = pick(options.atol, output, 1e-5), pick(options.rtol, output, 1e-5)
    tolerance = {"atol": atol, "rtol": rtol}
    reasons = [_nan_reason(options.nan, metrics)]
    for statistic in pick(options.check_error_stat, output, ("elemwise",)):
        judge = _elementwise if statistic == "elemwise" else _statistic
        reasons.append(judge(statistic, metrics, atol, rtol, output))
    text = "; ".join(filter(None, reasons))
    return DetailedVerdict(not text, text, dict(metrics), None, tolerance)


def _nan_reason(policy: str, metrics: Mapping[str, float]) -> str:
    nans = metrics.get("nan_candidate", 0.0), metrics.get("nan_reference", 0.0)
    if any(nans) and policy != "equal":
        return f"NaN: {nans[0]:g} in the candidate, {nans[1]:g} in the reference (--nan {policy})"
    if nans[0] != nans[1]:
        return f"NaN: {nans[0]:g} in the candidate, {nans[1]:g} in the reference"
    return ""


def _statistic(statistic: str, metrics: Mapping[str, float], atol: float, rtol: float, output: str) -> str:
    of_abs = require_metric(metrics, f"{statistic}_abs", output)
    of_rel = require_metric(metrics, f"{statistic}_rel", output)
    if of_abs <= atol or of_rel <= rtol:
        return ""
    return (
        f"the {statistic} error is {of_abs:.5g} absolute and {of_rel:.5g} relative (allowed are {atol:g} and {rtol:g})"
    )


def _elementwise(_: str, metrics: Mapping[str, float], atol: float, rtol: float, output: str) -> str:
    needed = tuple(
        metrics.get(f"required_{kind}", require_metric(metrics, f"max_{kind}", output)) for kind in ("abs", "rel")
    )
    if needed[0] <= atol or needed[1] <= rtol:
        return ""
    if not any(math.isfinite(item) for item in needed):
        return "NaN or infinity on one side: no tolerance would do"
    known = metrics.get("worst_abs", 0.0), metrics.get("worst_rel", 0.0)
    if (known[0] > atol and known[1] > rtol) or atol == 0.0 or rtol == 0.0:
        return f"some elements differ by more than both tolerances; atol {needed[0]:.5g} or rtol {needed[1]:.5g} passes"
    raise ComparisonError(
        f"whether output {output!r} passes with atol {atol:g} and rtol {rtol:g} cannot be told from its figures",
        why=f"each element may pass by either tolerance; alone, atol {needed[0]:.5g} or rtol {needed[1]:.5g} would do",
        hint=f"give --atol {needed[0]} or more, judge a statistic (--check-error-stat max), or run the models again",
    )
