"""Keeping the metrics of every iteration for a file: what `--save-accuracy-results` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polycmp.builtin.accuracy.metrics import MetricRecord, MetricsFile, PairRecord
from polycmp.builtin.accuracy.metrics_file import save_metrics
from polycmp.builtin.observers.averages import recorded_metrics, settings_of
from polycmp.compare import DetailedVerdict, OutputComparison
from polycmp.plan import ComparePlan
from polycmp.results import Outcome
from polycmp.spec import RunObserver, Verdict

if TYPE_CHECKING:
    from polycmp.builtin.accuracy.plugin import AccuracyOptions
    from polycmp.runs import Resolved, RunStep


def record(resolved: Resolved, options: AccuracyOptions) -> AccuracyRecorder:
    """Make the observer that saves a run's metrics."""
    return AccuracyRecorder(options.results, resolved.plan.compare)


class AccuracyRecorder(RunObserver):
    """Collects what compare functions say, to be saved at the end.

    Args:
        path: The file.
        plan: The comparison.
    """

    def __init__(self, path: str, plan: ComparePlan) -> None:
        self._path = path
        self._options = {choice.name: choice.options for choice in plan.functions}
        self._content = MetricsFile(average=plan.check_average)

    def on_step(self, step: RunStep) -> None:
        """Take in the verdicts of one iteration; of a model compared in windows it comes once for each."""
        for candidate, comparisons in step.compared.items():
            for item in comparisons:
                self._content.records += self._records(step.index, candidate, step.reference, item)

    def finish(self, outcome: Outcome) -> None:
        """Write the file.

        Raises:
            FileError: It cannot be written.
        """
        content = self._content
        content.records.sort(key=lambda record: record.iteration)  # inside a model, iterations come once per window
        content.command = outcome.command
        content.errors = {item.label: item.error for item in outcome.failed_backends}
        for pair in outcome.comparisons:
            for name, item in pair.outputs.items():
                if item.inconclusive == "blind":
                    self._tell_blind((pair.candidate, pair.reference, name), item.reason)
        content.pairs = [PairRecord(pair.candidate, pair.reference, pair.reason) for pair in outcome.comparisons]
        save_metrics(content, self._path)

    def _tell_blind(self, place: tuple[str, str, str], why: str) -> None:
        """Mark all records of an output as blind, which is known only at the end: nothing could have differed."""
        for index, record in enumerate(self._content.records):
            if (record.candidate, record.reference, record.output) == place:
                told = replace(record, passed=False, inconclusive="blind", reason=why)
                self._content.records[index] = told

    def _records(self, index: int, candidate: str, reference: str, item: OutputComparison) -> Iterable[MetricRecord]:
        base = MetricRecord(
            candidate,
            reference,
            index,
            item.output,
            passed=item.passed,
            reason=item.reason,
            candidate_type=item.candidate_type,
            reference_type=item.reference_type,
            reference_output=item.reference_output,
            inconclusive=item.inconclusive,
        )
        if not item.verdicts:
            yield base
        for name, verdict in item.verdicts.items():
            yield replace(
                base,
                function=name,
                passed=verdict.passed,
                inconclusive=verdict.inconclusive,
                reason=verdict.reason,
                metrics=recorded_metrics(verdict, inner=item.is_inner),
                settings=_applied(settings_of(self._options.get(name), item.output), verdict),
            )


def _applied(settings: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return a function's options with the tolerances that it chose itself where nothing was given."""
    chosen = verdict.tolerance if isinstance(verdict, DetailedVerdict) else {}
    return {name: chosen.get(name) if value is None else value for name, value in settings.items()}
