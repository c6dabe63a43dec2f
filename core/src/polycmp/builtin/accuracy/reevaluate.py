"""Judging saved metrics, with the tolerances they were saved with or with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polycmp.builtin.accuracy.metrics import MetricRecord, MetricsFile, PairRecord
from polycmp.builtin.observers.averages import (
    MetricsJudge,
    averaged,
    check_mean,
    mean_judge,
    metrics_judge,
    tolerances_matter,
)
from polycmp.compare import (
    DetailedVerdict,
    ErrorStats,
    OutputComparison,
    PairComparison,
    WorstIterations,
    blind,
    blind_by_figures,
    inconclusive,
    judged_together,
    verdict_over,
)
from polycmp.errors import ComparisonError, UsageError, did_you_mean
from polycmp.options import make_options, option_fields, pick, unknown_names
from polycmp.results import BackendResult, Outcome
from polycmp.spec import CompareFunction, CompareFuncTools, Verdict

if TYPE_CHECKING:
    from polycmp.plugins import Registry


@dataclass(frozen=True)
class Criteria:
    """Rules for judging saved metrics.

    Attributes:
        functions: The compare functions to look at; empty means all that the file has.
        options: Options that replace the saved ones, by function, then field.
        check_average: Whether to judge means over iterations.
        fail_fast: Whether to stop at the first failure.
        allow_blind: Names or patterns of outputs that pass although nothing could have differed.
    """

    functions: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    check_average: bool = False
    fail_fast: bool = False
    allow_blind: tuple[str, ...] = ()


def judge_file(content: MetricsFile, criteria: Criteria, registry: Registry, path: str) -> Outcome:
    """Return the outcome that the saved metrics make.

    Args:
        content: The metrics.
        criteria: Compare functions, options and rules to judge them by.
        registry: The plugins that bring the compare functions.
        path: The file, for messages.

    Raises:
        ComparisonError: The file lacks the metrics asked for, or they do not tell.
        PluginError: A compare function is not installed.
        UsageError: Options contradict each other or name outputs that the file does not have.
    """
    if criteria.fail_fast and criteria.check_average:
        raise UsageError("--check-average needs all iterations, --fail-fast stops early", hint="give only one of them")
    _check(content, criteria, path)
    judge = _Evaluator(criteria, registry)
    average = criteria.check_average or content.average
    outcome = Outcome(expected=True, reference=content.pairs[-1].reference if content.pairs else "")
    labels = dict.fromkeys([*(p.candidate for p in content.pairs), *(p.reference for p in content.pairs)])
    outcome.backends = [BackendResult(label, "saved", error=content.errors.get(label, "")) for label in labels]
    outcome.backends += [
        BackendResult(label, "saved", error=e) for label, e in content.errors.items() if label not in labels
    ]
    for pair in content.pairs:
        records = [r for r in content.records if (r.candidate, r.reference) == (pair.candidate, pair.reference)]
        outcome.comparisons.append(_judge_pair(pair, records, judge, average=average))
        iterations = outcome.comparisons[-1].iterations
        for backend in outcome.backends:
            if backend.label in (pair.candidate, pair.reference):
                backend.iterations = max(backend.iterations, iterations)
        if criteria.fail_fast and outcome.comparisons[-1].verdict == "failed":
            break
    return outcome


def judged_metrics(content: MetricsFile, criteria: Criteria, registry: Registry, command: str) -> MetricsFile:
    """Return the metrics with the new tolerances and verdicts; where means are judged, the verdicts stay.

    Raises:
        ComparisonError: The metrics do not tell.
    """
    judge = _Evaluator(criteria, registry)
    average = criteria.check_average or content.average
    records = [judge.updated(record, average=average) for record in content.records if judge.looks_at(record)]
    return replace(content, records=records, command=command, average=average)


def _check(content: MetricsFile, criteria: Criteria, path: str) -> None:
    there = list(dict.fromkeys(record.function for record in content.records if record.function))
    for name in dict.fromkeys([*criteria.functions, *criteria.options]):
        if name not in there:
            raise ComparisonError(
                f"holds no metrics of the compare function {name!r}",
                whose=path,
                why=f"it has: {', '.join(there) or 'verdicts without metrics'}",
                hint=f"polycmp run … --compare {name} --save-accuracy-results FILE",
            )
    outputs = list(dict.fromkeys(record.output for record in content.records))
    for name, options in criteria.options.items():
        for option, values in options.items():
            unknown = unknown_names(values, outputs) if isinstance(values, Mapping) else []
            if unknown:
                raise UsageError(
                    f"{option} of {name}: the file has no output {unknown[0]!r}", why=did_you_mean(unknown[0], outputs)
                )


class _Evaluator:
    def __init__(self, criteria: Criteria, registry: Registry) -> None:
        self.criteria = criteria
        self._registry = registry

    def looks_at(self, record: MetricRecord) -> bool:
        wanted = self.criteria.functions
        return not wanted or not record.function or record.function in wanted

    def verdict(self, record: MetricRecord) -> Verdict:
        """Return the saved verdict where nothing changed, else that on the saved metrics."""
        changed = self.criteria.options.get(record.function)
        if record.passed is not None and (not record.function or not changed):
            return _with_stats(_saved(record, passed=record.passed))
        judge = self.judge(record)
        if record.passed is not None and not tolerances_matter(record.metrics):
            return _saved(record, passed=record.passed)
        verdict = _with_stats(judge(record.metrics, output=record.output))
        why = blind_by_figures(judge.function, verdict, record.output)
        return replace(verdict, passed=False, reason=why, inconclusive="blind") if why else verdict

    def updated(self, record: MetricRecord, *, average: bool) -> MetricRecord:
        """Return the record with the settings given now, and the verdict that follows."""
        new_options = self.criteria.options.get(record.function, {})
        now = {
            name: pick(value, record.output, record.settings.get(name)) if isinstance(value, Mapping) else value
            for name, value in new_options.items()
        }
        record = replace(record, settings={**record.settings, **now})
        if average:
            return record
        verdict = self.verdict(record)
        return replace(record, passed=verdict.passed, reason=verdict.reason, inconclusive=verdict.inconclusive)

    def function(self, record: MetricRecord) -> CompareFunction:
        """Return the compare function with the saved settings and those given now."""
        contribution = self._registry.find_compare_func(record.function)
        self._registry.require(contribution)
        values = _merged(contribution.spec.options, record, self.criteria.options.get(record.function, {}))
        options = make_options(contribution.spec.options, values, f"compare function {record.function}")
        if self.criteria.check_average:
            check_mean(contribution.name, self.tools(record), options, record.output)
        return self._registry.load(contribution)(options, **({"detail": False} if self.tools(record).detail else {}))

    def tools(self, record: MetricRecord) -> CompareFuncTools:
        """Return what is true of a record's compare function."""
        return self._registry.tools(self._registry.find_compare_func(record.function))

    def judge(self, record: MetricRecord) -> MetricsJudge:
        """Return the judge of metrics of the record's kind.

        Raises:
            ComparisonError: The compare function cannot judge without the tensors.
        """
        judge = metrics_judge(self.function(record), self.tools(record))
        if judge is None:
            raise ComparisonError(
                f"output {record.output!r} cannot be judged again from this file",
                whose=record.function,
                why="this compare function needs the tensors",
                hint="run the models again: polycmp run",
            )
        return judge


def _with_stats(verdict: Verdict) -> Verdict:
    """Return the verdict with error statistics as far as its metrics tell them, for reports."""
    metrics = verdict.metrics
    if "max_abs" not in metrics or "max_rel" not in metrics:
        return verdict
    figures: dict[str, Any] = {name: metrics[name] for name in _FIGURES if name in metrics}
    count, failed = (int(metrics.get(name, 0)) for name in ("elements", "failed_elements"))
    figures.update(scale=metrics.get("largest_magnitude", 0.0), nan_reference=int(metrics.get("nan_reference", 0)))
    stats = ErrorStats(count, failed, inf_matched=int(metrics.get("inf_matched", 0)), **figures)
    tolerance = verdict.tolerance if isinstance(verdict, DetailedVerdict) else {}
    return DetailedVerdict(verdict.passed, verdict.reason, metrics, stats, tolerance, inconclusive=verdict.inconclusive)


def _saved(record: MetricRecord, *, passed: bool) -> Verdict:
    return Verdict(passed, record.reason, record.metrics, inconclusive=record.inconclusive)


_FIGURES = (
    *(f"{name}_{kind}" for name in ("max", "mean", "median", "quantile") for kind in ("abs", "rel")),
    *("required_abs", "required_rel"),
)


def _merged(options: type | None, record: MetricRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for an options dataclass: what is given now, else what was saved for this output."""
    values: dict[str, Any] = {}
    for item in option_fields(options):
        value = record.settings.get(item.name)
        if value is not None:
            value = tuple(value) if isinstance(value, list) else value
            values[item.name] = {record.output: value} if item.kind == "mapping" else value
        if item.name in given:
            new = given[item.name]
            kept = {} if item.kind != "mapping" or "" in new else values.get(item.name, {})
            values[item.name] = {**kept, **new} if item.kind == "mapping" else new
    return values


def _judge_pair(pair: PairRecord, records: list[MetricRecord], judge: _Evaluator, *, average: bool) -> PairComparison:
    worst = WorstIterations()
    iterations: dict[int, dict[str, list[MetricRecord]]] = {}
    for record in filter(judge.looks_at, records):
        iterations.setdefault(record.iteration, {}).setdefault(record.output, []).append(record)
    compared = 0
    for index, outputs in sorted(iterations.items()):
        # Where means are judged, the single iterations only count by their metrics.
        judged = [
            _output(items, {} if average else {r.function: judge.verdict(r) for r in items})
            for items in outputs.values()
        ]
        worst.add(judged)
        compared = index + 1
        if judge.criteria.fail_fast and any(item.verdict == "failed" for item in judged):
            break
    outputs_found = dict(worst.outputs)
    if average:
        by_output: dict[str, list[MetricRecord]] = {}
        for record in filter(judge.looks_at, records):
            by_output.setdefault(record.output, []).append(record)
        outputs_found = {name: _average(item, by_output[name], judge) for name, item in outputs_found.items()}
    for name, item in outputs_found.items():
        if item.inconclusive == "blind":
            outputs_found[name] = blind(item, item.reason, judge.criteria.allow_blind)
    reason = pair.reason or ("" if outputs_found else "no output was compared")
    verdict = "failed" if reason else verdict_over(outputs_found.values())
    return PairComparison(
        pair.candidate,
        pair.reference,
        verdict == "passed",
        outputs_found,
        compared,
        reason,
        inconclusive(verdict),
    )


def _output(records: list[MetricRecord], verdicts: Mapping[str, Verdict]) -> OutputComparison:
    verdict, reasons = judged_together(verdicts)
    first = records[0]
    return OutputComparison(
        first.output,
        first.reference_output if first.reference_output is not None or not first.candidate_type else first.output,
        verdict == "passed",
        "; ".join(reasons),
        {name: verdict for name, verdict in verdicts.items() if name},
        worst_iteration=first.iteration,
        candidate_type=first.candidate_type,
        reference_type=first.reference_type,
        inconclusive=inconclusive(verdict),
    )


def _average(item: OutputComparison, records: list[MetricRecord], judge: _Evaluator) -> OutputComparison:
    for record in records:
        if not tolerances_matter(record.metrics) and not record.passed:
            return replace(item, passed=False, inconclusive=record.inconclusive, reason=record.reason)
    verdicts = {}
    for name in dict.fromkeys(record.function for record in records if tolerances_matter(record.metrics)):
        of_function = [r for r in records if r.function == name and tolerances_matter(r.metrics)]
        judge_mean = mean_judge(name, judge.function(of_function[0]), judge.tools(of_function[0]))
        means = judge_mean.means()
        for record in of_function:
            means.add(record.metrics)
        verdicts[name] = judge_mean(means.result(), output=item.output)
    return averaged(item, verdicts)
