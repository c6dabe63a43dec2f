"""Metrics over iterations: what of a verdict is kept as numbers, and their means, which `--check-average` judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from polycmp.compare import (
    DetailedVerdict,
    OutputComparison,
    PairComparison,
    as_verdict,
    inconclusive,
    judged_together,
    judging,
    mean_of,
    named_reason,
)
from polycmp.errors import UsageError
from polycmp.options import pick
from polycmp.plan import ComparePlan
from polycmp.runs import Comparer
from polycmp.spec import CompareFunction, CompareFuncTools, RejudgingFunction, RunObserver, Verdict
from polycmp.tensors import Outputs

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, RunStep

Functions = Mapping[str, CompareFunction]


def recorded_metrics(verdict: Verdict, *, inner: bool = False) -> dict[str, float]:
    """Return the numbers of a verdict that allow to judge it again with other tolerances.

    Args:
        verdict: The verdict.
        inner: Whether it is on a tensor inside a model, which is not checked for comparisons that could not fail.
    """
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
    if not inner:
        metrics["largest_magnitude"] = float(stats.scale)
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


@dataclass(frozen=True)
class MetricsJudge:
    """Judges the metrics of a compare function without the tensors.

    Attributes:
        function: The compare function.
        larger_is_better: Whether larger metrics are better, as the function's descriptor says.
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
        """Return the accumulator of its metrics."""
        return Means(larger_is_better=self.larger_is_better)


def metrics_judge(function: CompareFunction, tools: CompareFuncTools) -> MetricsJudge | None:
    """Return the judge of a compare function's metrics; None if it does not judge them.

    Args:
        function: The compare function.
        tools: What is true of the compare function.
    """
    return MetricsJudge(cast("RejudgingFunction", function), tools.larger_is_better) if tools.rejudges else None


def no_mean(tools: CompareFuncTools, options: Any, output: str | None = None) -> tuple[str, str] | None:
    """Explain why a compare function's metrics have no mean, and what to choose instead; None if they have one.

    Args:
        tools: What is true of the compare function.
        options: Options of the compare function.
        output: The output in question; by default any.
    """
    values = {} if options is None else vars(options)
    for field_name, value, instead in tools.no_mean:
        settings = values[field_name]
        if isinstance(settings, Mapping):
            settings = tuple(settings.values()) if output is None else (pick(settings, output, None),)
        else:
            settings = (settings,)
        if any(value in item if isinstance(item, tuple) else value == item for item in settings):
            return f"there is no mean of {field_name.replace('_', '-')} {value}", f"choose {instead}"
    return None


@dataclass
class _Sum:
    total: float = 0.0
    count: int = 0

    def mean(self) -> float:
        if not self.count:
            return math.inf
        return mean_of(self.total, self.count)


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


#: Number of the worst iterations that are named.
_SAMPLES = 3


@dataclass
class WorstSamples:
    """The iterations in which a function's first metric, by which it judges, is worst.

    Attributes:
        larger_is_better: Of the metric.
        name: The metric.
        worst: The worst values with their iterations, counted from 0, the worst first; NaN is worse than all.
        differ: Whether not all iterations have the same value, so that there is a worst.
    """

    larger_is_better: bool = False
    name: str = ""
    worst: list[tuple[float, int]] = field(default_factory=list)
    differ: bool = False

    def add(self, iteration: int, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of one iteration."""
        self.name, value = next(iter(metrics.items()))
        self.differ = self.differ or any(value != other for other, _ in self.worst)
        sign = 1 if self.larger_is_better else -1
        every = [*self.worst, (float(value), iteration)]
        self.worst = sorted(every, key=lambda item: (not math.isnan(item[0]), sign * item[0], item[1]))[:_SAMPLES]

    @property
    def words(self) -> str:
        """The iterations with their values; empty where all are alike."""
        if not self.differ:
            return ""
        return ", ".join(f"iteration {at} ({self.name.replace('_', ' ')} {value:.4g})" for value, at in self.worst)


class Averages(RunObserver):
    """Judges the means of a run's metrics, for `--check-average`.

    Raises:
        UsageError: Means make no sense for its plan, or a compare function cannot judge them.
    """

    whole_steps = "--check-average"

    def __init__(self, resolved: Resolved) -> None:
        self._tools = resolved.functions.tools
        check_average_plan(resolved.plan.compare, self._tools)
        self._is_script = bool(resolved.plan.compare.script)
        self._judges = {name: self._judge(name, function) for name, function in resolved.functions.by_name.items()}
        self._pairs: dict[str, PairMeans] = {}

    def on_step(self, step: RunStep) -> None:
        """Take in the metrics of an iteration."""
        for candidate, comparisons in step.compared.items():
            self._pairs.setdefault(candidate, PairMeans(self._judges)).add(comparisons)

    def finish(self, outcome: Outcome) -> None:
        """Put the verdicts on the means in the place of those on single iterations."""
        outcome.comparisons = [
            self._pairs[single.candidate].judged(single) if single.candidate in self._pairs else single
            for single in outcome.comparisons
        ]

    def _judge(self, name: str, function: CompareFunction) -> MetricsJudge:
        if not self._is_script:
            return mean_judge(name, function, self._tools[name])
        if not callable(getattr(function, "judge_metrics", None)):
            raise UsageError(
                "--check-average: the compare script cannot judge means",
                why="it has no judge_metrics(metrics, *, output), which returns a Verdict",
                hint="give a class with __call__ and judge_metrics, as docs/comparing.md shows, or --compare NAME",
            )
        return MetricsJudge(cast("RejudgingFunction", function), bool(getattr(function, "larger_is_better", False)))


def check_average_plan(plan: ComparePlan, tools: Mapping[str, CompareFuncTools]) -> None:
    """Check that means over iterations make sense for a plan.

    Args:
        plan: The part of the plan on comparing.
        tools: What is true of its compare functions, by name.

    Raises:
        UsageError: They do not.
    """
    if plan.fail_fast:
        raise UsageError("--check-average needs all iterations, --fail-fast stops early", hint="give only one of them")
    for choice in () if plan.script else plan.functions:
        check_mean(choice.name, tools[choice.name], choice.options)


def check_mean(name: str, tools: CompareFuncTools, options: Any, output: str | None = None) -> None:
    """Check that the metrics of a compare function have a mean with its options.

    Args:
        name: Name of the compare function.
        tools: What is true of the compare function.
        options: Options of the compare function.
        output: The output in question; by default any.

    Raises:
        UsageError: They have none.
    """
    reason = no_mean(tools, options, output)
    if reason is not None:
        raise UsageError(f"--check-average: {reason[0]}", whose=name, hint=reason[1])


def mean_judge(name: str, function: CompareFunction, tools: CompareFuncTools) -> MetricsJudge:
    """Return the judge of the means of a compare function's metrics.

    Raises:
        UsageError: It cannot judge them.
    """
    judge = metrics_judge(function, tools)
    if judge is None:
        raise UsageError(
            "--check-average: its metrics cannot be averaged", whose=name, hint="leave it out of --compare"
        )
    return judge


class PairMeans:
    """Judges the mean of each metric of a candidate over all iterations.

    Args:
        judges: Judges of the metrics, by name of the compare function.
    """

    def __init__(self, judges: Mapping[str, MetricsJudge]) -> None:
        self._judges = judges
        self._means: dict[tuple[str, str], Means] = {}
        self._final: set[str] = set()
        self._worst: dict[tuple[str, str], WorstSamples] = {}
        self._iterations = 0

    def add(self, comparisons: Iterable[OutputComparison]) -> None:
        """Take in the metrics of one iteration."""
        for item in comparisons:
            if not item.passed and not all(tolerances_matter(verdict.metrics) for verdict in item.verdicts.values()):
                self._final.add(item.output)
            if not item.verdicts:
                self._final.add(item.output)
            for name, verdict in item.verdicts.items():
                if tolerances_matter(verdict.metrics):
                    means = self._means.setdefault((item.output, name), self._judges[name].means())
                    means.add(recorded_metrics(verdict))
                    worst = self._worst.setdefault((item.output, name), WorstSamples(means.larger_is_better))
                    worst.add(self._iterations, verdict.metrics)
        self._iterations += 1

    def judged(self, single: PairComparison) -> PairComparison:
        """Return the verdict on the means; an output that failed in some iteration without metrics has failed."""
        outputs = {name: self._averaged(item) for name, item in single.outputs.items()}
        return single.with_outputs(outputs)

    def _averaged(self, item: OutputComparison) -> OutputComparison:
        if item.output in self._final or item.inconclusive == "blind":
            return item
        verdicts = dict(item.verdicts)
        for name, judge in self._judges.items():
            if (item.output, name) not in self._means:
                continue
            verdict = judge(self._means[item.output, name].result(), output=item.output)
            verdicts[name] = _with_stats(verdict, item.verdicts.get(name))
        return self._with_worst(averaged(item, verdicts))

    def _with_worst(self, item: OutputComparison) -> OutputComparison:
        """Return an output's comparison whose reason names the iterations that are worst, where these differ."""
        known = [(name, worst.words) for (output, name), worst in self._worst.items() if output == item.output]
        told = [named_reason(name, words, len(known)) for name, words in known if words]
        if not told:
            return item
        reason = item.reason or f"mean over {item.iterations} iterations"
        return replace(item, reason=f"{reason}; worst: {'; '.join(told)}")


class AveragingComparer:
    """Judge the mean of each metric over all iterations.

    Args:
        pair: Compares the single iterations.
        judges: Judges of the metrics, by name of the compare function.
    """

    def __init__(self, pair: Comparer, judges: Mapping[str, MetricsJudge]) -> None:
        self._pair = pair
        self._means = PairMeans(judges)

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and take in its metrics."""
        comparisons = self._pair.add(candidate, reference)
        self._means.add(comparisons)
        return comparisons

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict on the means, as `PairMeans.judged` does."""
        return self._means.judged(self._pair.result(candidate_iterations, reference_iterations))


def averaged(item: OutputComparison, verdicts: Mapping[str, Verdict]) -> OutputComparison:
    """Return an output's comparison with the verdicts on means in the place of its own."""
    verdict, reasons = judged_together(verdicts)
    passed = verdict == "passed"
    text = "" if passed else f"mean over {item.iterations} iterations: {'; '.join(reasons)}"
    return replace(
        item,
        passed=passed,
        inconclusive=inconclusive(verdict),
        reason=text,
        verdicts=verdicts,
        failed_iterations=0,
    )


def _with_stats(verdict: Verdict, single: Verdict | None) -> Verdict:
    """Return the verdict on a mean with the error statistics of the worst iteration, for reports."""
    if isinstance(verdict, DetailedVerdict) and isinstance(single, DetailedVerdict):
        return replace(verdict, stats=single.stats)
    return verdict


def settings_of(options: Any, output: str) -> dict[str, Any]:
    """Return a compare function's options as far as they concern one output."""
    fields = {} if options is None else vars(options)
    return {name: pick(value, output, None) if isinstance(value, Mapping) else value for name, value in fields.items()}
