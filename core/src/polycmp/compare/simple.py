"""The compare function `simple`: absolute and relative error of each element, or a statistic of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp import sentences
from polycmp.compare.blocks import Pair, wide
from polycmp.compare.channels import channel_axis, dead_channels, describe_dead
from polycmp.compare.judge import OutputJudge, compare_strings, require_metric
from polycmp.compare.order import (
    SMALL,
    approximate_quantiles,
    histogram,
    octaves_of_counts,
    octaves_of_sorted,
    quantiles,
    quantiles_of_sorted,
)
from polycmp.compare.signs import describe_signs
from polycmp.compare.statistics import (
    Limits,
    Sums,
    block_errors,
    errors_with_nan,
    gather,
    sorted_errors,
    summarise,
)
from polycmp.compare.verdicts import DetailedVerdict, ErrorStats
from polycmp.compare.words import passing_tolerances, shape_reason, worst_reason
from polycmp.errors import ComparisonError
from polycmp.options.values import pick
from polycmp.spec import Verdict
from polycmp.tensors import dtype_class

if TYPE_CHECKING:
    from polycmp._builtin_options import SimpleOptions

Array = NDArray[Any]


@dataclass(frozen=True)
class Simple(OutputJudge):
    """Judge an output by `|candidate - reference|` and by that divided by `|reference|`.

    Args:
        options: Tolerances and statistics, per output.
        detail: Whether to compute what only a report shows, too.
    """

    options: SimpleOptions
    detail: bool = False

    def judge(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        a, b = candidate, reference
        options = self.options
        whole = {dtype_class(a.dtype), dtype_class(b.dtype)} <= {"integer", "bool"}
        limits = Limits(
            *tolerances(options, output, whole=whole),
            options.nan == "equal",
            options.infinities_compare_equal,
        )
        tolerance = {"atol": limits.atol, "rtol": limits.rtol}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        if "string" in {dtype_class(a.dtype), dtype_class(b.dtype)}:
            return replace(compare_strings(a, b), tolerance=tolerance)
        if a.size == 0:
            return DetailedVerdict(True, sentences.NO_ELEMENTS, stats=ErrorStats(), tolerance=tolerance)
        pair = Pair(a, b)
        if options.scale_atol:
            limits = replace(limits, atol=limits.atol * max(1.0, _largest(b)))
            tolerance["atol"] = limits.atol
        sums = gather(pair, limits, counted=self.detail and pair.size > SMALL)
        wanted = pick(options.check_error_stat, output, ("elemwise",))
        stats = self._stats(pair, sums, limits, wanted, pick(options.error_quantile, output, 0.99))
        reasons = _nan_reasons(sums, options.nan)
        reasons += filter(None, (_check(statistic, stats, sums, limits) for statistic in wanted))
        if reasons and stats.inf_matched > stats.inf_forgiven:
            reasons.append(f"{sentences.INFINITIES}, {stats.inf_matched} here")
        if reasons and _is_constant(a) and not _is_constant(b):
            reasons.append(sentences.ONE_NUMBER)
        elif reasons:
            reasons += _dead_channels(a, b, limits)
            reasons += filter(None, [describe_signs(a, b, limits.atol)])
        named = options.rtol.get(output, 0.0)
        if whole and reasons and named < stats.max_rel <= options.rtol.get("", 0.0):
            reasons.append(f"--rtol covers whole numbers only by name: --rtol {output}:{options.rtol['']:g}")
        remark = _whole_remark(pair, stats) if whole and not reasons else ""
        return DetailedVerdict(not reasons, "; ".join(reasons) or remark, _metrics(stats), stats, tolerance)

    @property
    def by_element(self) -> bool:
        """Whether each element is judged by itself, so that what fails in a part fails in the whole."""
        return all(statistics == ("elemwise",) for statistics in self.options.check_error_stat.values())

    def passes_scaled(self, share: float, verdict: Verdict | None, *, output: str) -> bool | None:
        """Return whether an array would pass that is off by a share of each value of the reference.

        Args:
            share: The share.
            verdict: The verdict on the candidate.
            output: The output's name.

        Returns:
            Whether it would; None where the verdict does not tell.
        """
        if not isinstance(verdict, DetailedVerdict) or verdict.stats is None or not self.by_element:
            return None
        if verdict.stats.nan_reference or verdict.stats.inf_matched:
            return None
        return share <= verdict.tolerance["rtol"] or share * verdict.stats.scale <= verdict.tolerance["atol"]

    def lets_pass(self, array: Array, expected: Array, verdict: Verdict | None, *, output: str) -> bool | None:
        """Return whether each element of an array is within the tolerances, from the first ones on.

        Args:
            array: The array.
            expected: The array to compare it with.
            verdict: The verdict on the candidate, whose tolerances count.
            output: The output's name.

        Returns:
            Whether it is; None where this is not for single elements to decide.
        """
        tolerance = verdict.tolerance if isinstance(verdict, DetailedVerdict) else {}
        if not self.by_element or "atol" not in tolerance:
            return None
        limits = Limits(
            tolerance["atol"], tolerance["rtol"], self.options.nan == "equal", self.options.infinities_compare_equal
        )
        pair = Pair(array, expected)
        errors_of = block_errors(pair, limits)()
        with np.errstate(all="ignore"):
            for key, _ in pair.cuts():
                block = errors_of(pair.candidate[key], pair.reference[key])
                failed = (block.errors > limits.atol) & (block.relative > limits.rtol)
                if block.nan is not None or bool(failed.any()):
                    return False
        return True

    def judge_metrics(self, metrics: Mapping[str, float], *, output: str = "") -> DetailedVerdict:
        """Return the verdict on figures that were computed before.

        Args:
            metrics: Figures as `recorded_metrics` returns them, or their means over iterations.
            output: The output's name, for tolerances of its own.

        Raises:
            ComparisonError: The figures do not tell.
        """
        return judge_errors(self.options, metrics, output)

    def _stats(self, pair: Pair, sums: Sums, limits: Limits, wanted: tuple[str, ...], quantile: float) -> ErrorStats:
        stats = summarise(pair, sums, limits)
        if self.detail:
            stats = _detailed(pair, limits, sums, stats)
        asked = [("median", 0.5)] if "median" in wanted else []
        asked += [("quantile", quantile)] if "quantile" in wanted else []
        if not asked:
            return stats
        points = tuple(point for _, point in asked)
        statistics: dict[str, Any] = {}
        for kind in ("abs", "rel"):
            values = quantiles(pair, errors_with_nan(pair, limits, relative=kind == "rel"), points)
            statistics.update({f"{name}_{kind}": value for (name, _), value in zip(asked, values, strict=True)})
        return replace(stats, **statistics)


def _detailed(pair: Pair, limits: Limits, sums: Sums, stats: ErrorStats) -> ErrorStats:
    points = (0.5, 0.9, 0.95, 0.99)
    if sums.counts is None:  # few elements: sorted they give exact figures, and faster
        errors, relative = sorted_errors(pair, limits)
        median, p90, p95, p99 = quantiles_of_sorted(errors, points)
        (median_rel,) = quantiles_of_sorted(relative, (0.5,))
        octaves = octaves_of_sorted(errors)
    else:
        counts, relative_counts = (part.counts for part in sums.counts)
        median, p90, p95, p99 = approximate_quantiles(counts, points)
        (median_rel,) = approximate_quantiles(relative_counts, (0.5,))
        octaves = octaves_of_counts(counts)
    return replace(
        stats,
        median_abs=median,
        median_rel=median_rel,
        p90=p90,
        p95=p95,
        p99=p99,
        histogram=histogram(octaves),
    )


def _metrics(stats: ErrorStats) -> dict[str, float]:
    names = ("max_abs", "mean_abs", "median_abs", "quantile_abs", "max_rel", "mean_rel", "median_rel", "quantile_rel")
    figures = {name: getattr(stats, name) for name in names}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _check(statistic: str, stats: ErrorStats, sums: Sums, limits: Limits) -> str:
    """Return in words why a statistic fails, or nothing."""
    if statistic == "elemwise":
        return _elementwise_reason(stats) if stats.failed else ""
    of_abs, of_rel = getattr(stats, f"{statistic}_abs"), getattr(stats, f"{statistic}_rel")
    if sums.nan_failed == 0 and not sums.inf_failed and (of_abs <= limits.atol or of_rel <= limits.rtol):
        return ""
    if sums.inf_failed and math.isfinite(of_abs):
        return f"an infinite error, which no {statistic} makes good"
    return sentences.statistic_too_large(statistic, of_abs, of_rel, limits.atol, limits.rtol)


def _elementwise_reason(stats: ErrorStats) -> str:
    worst = "" if stats.worst is None else worst_reason(stats.worst)
    enough = passing_tolerances(stats.required_abs, stats.required_rel)
    return sentences.elements_differ(stats.failed, stats.count, worst, enough)


def _whole_remark(pair: Pair, stats: ErrorStats) -> str:
    """Return in words that whole numbers differ within the tolerances: an index that is nearly right is another one."""
    if stats.max_abs == 0.0:
        return ""
    differing = sum(int(np.count_nonzero(pair.candidate[key] != pair.reference[key])) for key, _ in pair.cuts())
    return sentences.whole_numbers_differ(differing, pair.size, stats.max_abs)


def _nan_reasons(sums: Sums, policy: str) -> list[str]:
    """Return in words why NaNs fail, if they do."""
    if not (sums.nan_candidate or sums.nan_reference) or (policy != "forbid" and not sums.nan_failed):
        return []
    where = sentences.nan_differs(sums.nan_candidate, sums.nan_reference)
    meaning = {"forbid": " (--nan forbid)", "differ": " (--nan differ: NaN differs from everything)", "equal": ""}
    return [where + meaning[policy]]


def _largest(array: Array) -> float:
    """Return the largest finite magnitude, 0 where there is none."""
    pair = Pair(array, array)
    largest = 0.0
    for key, _ in pair.cuts():
        block = pair.reference[key]  # widened first: the smallest int8 has no positive counterpart in its type
        values = np.abs(wide(block))
        largest = max(largest, float(values.max(initial=0.0, where=np.isfinite(values))))
    return largest


def _dead_channels(candidate: Array, reference: Array, limits: Limits) -> list[str]:
    """Return in words which channels are constant in the candidate, and vary in the reference beyond the tolerances."""
    axis = channel_axis(reference.shape)
    dead = dead_channels(candidate, reference, axis, limits.rtol, limits.atol)
    return [] if dead is None else [describe_dead(dead, candidate, axis)]


def _is_constant(array: Array) -> bool:
    """Return whether an array holds one number only; a single element says nothing."""
    if array.size < 2:
        return False
    first = array[(0,) * array.ndim]
    pair = Pair(array, array)
    return all(bool((pair.candidate[key] == first).all()) for key, _ in pair.cuts())


def tolerances(options: SimpleOptions, output: str, *, whole: bool) -> tuple[float, float]:
    """Return the absolute and the relative tolerance of an output.

    Args:
        options: The tolerances that were given.
        output: The output's name.
        whole: Whether both sides hold whole numbers or booleans. Those are equal or different: only an absolute
            tolerance, or a relative one given for this very output, lets others pass.
    """
    default = 0.0 if whole else 1e-5
    rtol = options.rtol.get(output, default) if whole and output else pick(options.rtol, output, default)
    return pick(options.atol, output, default), rtol


# From here on: figures alone, as they were saved or averaged, without the tensors.


def judge_errors(options: SimpleOptions, metrics: Mapping[str, float], output: str) -> DetailedVerdict:
    """Return the verdict of `simple` on figures.

    Statistics are compared with the tolerances like those of tensors. Whether every element passes is only known if one
    tolerance alone lets all of them pass, or if the element that is known fails both.

    Raises:
        ComparisonError: The figures do not tell.
    """
    atol, rtol = tolerances(options, output, whole=bool(metrics.get("whole")))
    reasons = [_nan_reason(options.nan, metrics, output)]
    if not any(reasons):
        figures = _figures(options, metrics, output, atol, rtol)
        reasons += (
            _elementwise(figures) if statistic == "elemwise" else _statistic(statistic, figures)
            for statistic in pick(options.check_error_stat, output, ("elemwise",))
        )
    text = "; ".join(filter(None, reasons))
    return DetailedVerdict(not text, text, dict(metrics), None, {"atol": atol, "rtol": rtol})


@dataclass(frozen=True)
class _Figures:
    """Figures of an output, and the tolerances.

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
            f"output {output!r} cannot be judged with these options: both sides hold equally many NaNs",
            why="the figures do not tell whether those are at the same places; an older polycmp saved them",
            hint="run the models again: polycmp run … --save-accuracy-results FILE",
        )
    mismatched = metrics["nan_mismatched"]
    return f"{text}, {mismatched:g} of them where the other side has a number" if mismatched else ""


def _statistic(statistic: str, figures: _Figures) -> str:
    errors = figures.pair(statistic)
    if figures.too_small:
        if statistic in {"median", "quantile"}:
            raise _taken_otherwise(figures)
        return sentences.INFINITIES
    if all(map(math.isinf, figures.pair("max"))) and math.isfinite(errors[0]) and not figures.too_large:
        return f"an infinite error, which no {statistic} makes good"
    if figures.passes(errors):
        return ""
    if figures.too_large and (statistic != "max" or math.inf in errors):
        raise _taken_otherwise(figures)
    return sentences.statistic_too_large(statistic, *errors, figures.atol, figures.rtol)


def _taken_otherwise(figures: _Figures) -> ComparisonError:
    return ComparisonError(
        f"output {figures.output!r} cannot be judged with these options from its figures",
        why="it holds NaN or infinity on both sides, which these options treat differently from those of the run",
        hint="run the models again with these options: polycmp run … --save-accuracy-results FILE",
    )


def _elementwise(figures: _Figures) -> str:
    atol, rtol = figures.atol, figures.rtol
    if figures.too_small:
        return sentences.INFINITIES
    needed = figures.pair("max")
    if not figures.too_large:  # NaN is no part of the largest error, but of what would have to be allowed
        needed = figures.metrics.get("required_abs", needed[0]), figures.metrics.get("required_rel", needed[1])
    if figures.passes(needed):
        return ""
    if figures.too_large and math.inf in needed:
        raise _taken_otherwise(figures)
    enough = passing_tolerances(*needed)
    if not enough:
        return "NaN or infinity on one side: no tolerance would do"
    worst = figures.metrics.get("worst_abs", 0.0), figures.metrics.get("worst_rel", 0.0)
    if (worst[0] > atol and worst[1] > rtol) or atol == 0.0 or rtol == 0.0:
        return f"some elements differ by more than both tolerances; {enough} passes"
    raise ComparisonError(
        f"whether output {figures.output!r} passes with atol {atol:g} and rtol {rtol:g} "
        "cannot be told from its figures",
        why=f"each element may pass by either tolerance; alone, {enough} would do",
        hint=f"give --atol {needed[0]} or more, judge a statistic (--check-error-stat max), or run the models again",
    )
