"""Metrics over iterations: what of a verdict is kept as numbers, and their means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from polycmp.compare.scripted import as_verdict, judging
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.errors import ComparisonError
from polycmp.spec import CompareFuncSpec, CompareFunction, RejudgingFunction, Verdict
from polycmp.values import pick


def recorded_metrics(verdict: Verdict) -> dict[str, float]:
    """Return the numbers of a verdict that allow to judge it again with other tolerances."""
    metrics = dict(verdict.metrics)
    stats = verdict.stats if isinstance(verdict, DetailedVerdict) else None
    if stats is None or "max_abs" not in metrics:
        return metrics
    metrics.update(
        required_abs=stats.required_abs,
        required_rel=stats.required_rel,
        elements=float(stats.count),
        failed_elements=float(stats.failed),
        nan_candidate=float(stats.nan_candidate),
        nan_reference=float(stats.nan_reference),
        nan_mismatched=float(stats.nan_mismatched),
    )
    rare = {name: float(getattr(stats, name)) for name in ("nan_failed", "inf_matched", "inf_forgiven", "whole")}
    metrics.update({name: figure for name, figure in rare.items() if figure})
    worst = stats.worst
    if worst is not None and _is_real(worst.candidate) and _is_real(worst.reference):
        error = abs(worst.candidate - worst.reference)  # type: ignore[operator]
        size = abs(worst.reference)  # type: ignore[arg-type]
        metrics["worst_abs"] = float(error)
        metrics["worst_rel"] = float(error / size) if size else (math.inf if error else 0.0)
    return metrics


def tolerances_matter(metrics: Mapping[str, float]) -> bool:
    """Return whether metrics can be judged: those of texts and of empty tensors are what they are."""
    return bool(metrics) and "differing" not in metrics


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def require_metric(metrics: Mapping[str, float], name: str, output: str) -> float:
    """Return a metric.

    Raises:
        ComparisonError: It is not there.
    """
    if name not in metrics:
        raise ComparisonError(
            f"there is no {name} of output {output!r}",
            why=f"there are: {', '.join(metrics) or 'no metrics at all'}",
            hint="compare the tensors again: polycmp run",
        )
    return metrics[name]


@dataclass(frozen=True)
class MetricsJudge:
    """Judges the metrics of a compare function without the tensors.

    Attributes:
        function: The compare function.
        larger_is_better: What its descriptor says.
    """

    function: RejudgingFunction
    larger_is_better: bool = False

    def __call__(self, metrics: Mapping[str, float], *, output: str = "") -> Verdict:
        """Return the verdict on metrics.

        Raises:
            ComparisonError: The function fails, or returns something else than a verdict.
        """
        name = type(self.function).__name__
        with judging(name, output):
            return as_verdict(self.function.judge_metrics(metrics, output=output), name, output)

    def means(self) -> Means:
        """Return what adds up its metrics."""
        return Means(larger_is_better=self.larger_is_better)


def metrics_judge(function: CompareFunction, spec: CompareFuncSpec) -> MetricsJudge | None:
    """Return what judges a compare function's metrics; None if its descriptor does not say that it can.

    Args:
        function: The compare function.
        spec: Its descriptor.
    """
    return MetricsJudge(cast("RejudgingFunction", function), spec.larger_is_better) if spec.rejudges else None


def no_mean(spec: CompareFuncSpec, options: Any, output: str | None = None) -> tuple[str, str] | None:
    """Return why there is no mean of a compare function's metrics, and what to choose instead; None if there is one.

    Args:
        spec: Its descriptor.
        options: Its options.
        output: The output in question; by default any.
    """
    values = {} if options is None else vars(options)
    for field_name, value, instead in spec.no_mean:
        given = values[field_name]
        if isinstance(given, Mapping):
            given = tuple(given.values()) if output is None else (pick(given, output, None),)
        else:
            given = (given,)
        if any(value in item if isinstance(item, tuple) else value == item for item in given):
            return f"there is no mean of {field_name.replace('_', '-')} {value}", f"choose {instead}"
    return None


@dataclass
class _Sum:
    total: float = 0.0
    count: int = 0

    def mean(self) -> float:
        if not self.count:
            return math.inf
        return self.total / self.count


@dataclass
class Means:
    """The arithmetic mean of each metric over iterations; NaN makes a mean NaN.

    Args:
        larger_is_better: An infinite metric then says that both sides were equal. Those iterations are left out of
            the mean unless all are such, since one of them would hide all others.
    """

    larger_is_better: bool = False
    sums: dict[str, _Sum] = field(default_factory=dict)

    def add(self, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of one iteration."""
        for name, value in metrics.items():
            item = self.sums.setdefault(name, _Sum())
            if self.larger_is_better and value == math.inf:
                continue
            item.total += value
            item.count += 1

    def result(self) -> dict[str, float]:
        """Return the means of the metrics."""
        return {name: item.mean() for name, item in self.sums.items()}
