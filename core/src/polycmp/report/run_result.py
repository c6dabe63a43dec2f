"""A run's outcome in the form that reports render."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from polycmp import sentences
from polycmp.compare.verdicts import (
    VERDICTS,
    DetailedVerdict,
    ErrorStats,
    OutputComparison,
    PairComparison,
    Worst,
    verdict_of,
)
from polycmp.report.formatting import backend_failure, duration, error_histogram, figure
from polycmp.report.result import (
    Bar,
    Block,
    Cell,
    CellValue,
    Column,
    Fact,
    Facts,
    Histogram,
    Note,
    Problem,
    Result,
    Row,
    State,
    Table,
    Verdict,
)
from polycmp.report.run_document import document_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome
from polycmp.sentences import cut

#: Characters of a version in a table; some libraries put their whole commit into it. The JSON report holds all.
_VERSION = 16
_RUN_COLUMNS = (
    Column("Version"),
    Column("Iterations", "number"),
    Column("First", "duration"),
    Column("Median", "duration"),
    Column("p90", "duration"),
    Column("p99", "duration", wide=True),
)
_OUTPUT_COLUMNS = (
    Column("Max abs", "number"),
    Column("Of range", "number", digits=2),
    Column("Mean abs", "number"),
    Column("Max rel", "number", wide=True),
    Column("Beyond tolerance", "number", wide=True),
)
#: Beginning of remarks on inputs.
_INPUTS = "inputs: "
#: Metrics of one compare function that a page shows.
_METRICS = 8
#: Words for outputs that did not pass.
_SHORT_WORDS = {"failed": "differ", "undecided": "undecided", "blind": "blind"}


def result_of(outcome: Outcome, command: str = "run") -> Result:
    """Return the outcome of a run, or of judging one again, as reports render it.

    Args:
        outcome: The outcome of the run.
        command: The command that found it.
    """
    heading, sentence = _verdict(outcome)
    worst_first = sorted(outcome.comparisons, key=lambda pair: VERDICTS.index(pair.verdict))
    return Result(
        command=command,
        verdict=cast(Verdict, outcome.verdict),
        heading=heading,
        sentence=sentence,
        title=" · ".join(pair.candidate for pair in worst_first[:3]),
        content=tuple(_content(outcome)),
        facts=tuple(_facts(outcome)),
        environment={key: str(value) for key, value in outcome.environment.items()},
        command_line=outcome.command,
        seconds=outcome.seconds,
        timed=outcome.verdict == "passed" and outcome.expected,
        document=document_of(outcome),
    )


def _content(outcome: Outcome) -> Iterator[Block]:
    yield _runs(outcome)
    yield from (backend_failure(item.label, item.error, item.hint) for item in outcome.failed_backends)
    yield from map(_remark, outcome.notes)
    yield from (Note(text, backend.label) for backend in outcome.backends for text in backend.notes)
    yield from (_not_finite(item) for item in outcome.invalid)
    yield from outcome.blocks
    yield from (_pair(pair, outcome) for pair in outcome.comparisons)
    yield from outcome.repeats
    yield from outcome.next_steps
    if outcome.inputs:
        items = tuple(Fact(name, str(entry)) for name, entry in outcome.inputs.items())
        yield Facts("Inputs", items, background=True)


def _remark(text: str) -> Note:
    """Return a remark; those on inputs belong to the runs, and stand with them."""
    return Note(text.removeprefix(_INPUTS), label="inputs") if text.startswith(_INPUTS) else Note(text)


def _not_finite(item: Invalid) -> Problem:
    count, first = f"{item.nan} NaN and {item.inf} infinite values", f"the first at {list(item.first)}"
    return Problem(
        f"{item.label}: {item.output} is not finite",
        f"{count}, {first}",
        state="failed",
        subject=item.label,
        case=f"{item.output} is finite",
        iteration=item.iteration,
        line=f"{item.label}: output {item.output!r} holds {count} in iteration {item.iteration}, {first}",
    )


def _facts(outcome: Outcome) -> Iterator[Fact]:
    outputs = [item for pair in outcome.comparisons for item in pair.outputs.values()]
    stats = [item.stats for item in outputs if item.stats is not None]
    yield Fact("outputs passed", f"{sum(item.passed for item in outputs)} / {len(outputs)}" if outputs else "–")
    yield Fact("largest error", figure(max((item.max_abs for item in stats), default=None)))
    yield Fact("reference", outcome.reference or "–")
    yield Fact("iterations", str(max((item.iterations for item in outcome.backends), default=0)))
    yield Fact("duration", duration(outcome.seconds))


def _runs(outcome: Outcome) -> Table:
    slowest = max((item.timing.p90 for item in outcome.backends if item.timing), default=0.0)
    return Table(
        title="",
        rows=tuple(_run(item, item.label == outcome.reference, slowest) for item in outcome.backends),
        columns=_RUN_COLUMNS,
        name_title="Run",
        reason_title="Result",
        drawing_title="Median and p90",
        heading="Runs and timings",
        summary="The first call is kept apart; the other figures are over the later calls.",
        judged=False,
    )


def _run(item: BackendResult, is_reference: bool, slowest: float) -> Row:
    timing = item.timing
    figures = (None,) * 4 if timing is None else (timing.first, timing.median, timing.p90, timing.p99)
    shares = () if timing is None else tuple(part / slowest if slowest else 0.0 for part in (timing.p90, timing.median))
    options = ", ".join(f"{key}={value}" for key, value in item.options.items())
    version = cut(item.version, _VERSION)
    return Row(
        item.label,
        "error" if item.error else "info",
        (version, item.iterations, *figures),
        reason="failed" if item.error else "ran" if timing else "read",
        type=" · ".join(filter(None, (options, item.model))),
        tags=("reference",) if is_reference else (),
        drawing=Bar(shares) if shares else None,
    )


def _pair(pair: PairComparison, outcome: Outcome) -> Table:
    outputs = pair.outputs.values()
    metrics = _asked_metrics(outputs)
    counts = [f"{number} {_SHORT_WORDS[verdict]}" for verdict, number in _counts(outputs).items()]
    count = f"{', '.join(counts)} of {len(outputs)}" if counts else f"all {len(outputs)} within tolerance"
    return Table(
        title=f"{pair.candidate} against {pair.reference}",
        rows=tuple(_output(item, pair.candidate, outcome, metrics) for item in outputs),
        columns=(*_OUTPUT_COLUMNS, *(Column(metric.replace("_", " "), "number") for _, metric in metrics)),
        name_title="Output",
        type_title="Type",
        reason_title="Verdict",
        drawing_title="Distribution",
        subject=pair.candidate,
        against=pair.reference,
        summary=f"{count} · {sentences.counted(pair.iterations, 'iteration')}",
        problem=Problem("all outputs", pair.reason, state="failed", subject=pair.candidate) if pair.reason else None,
        failures_first=True,
    )


def _output(output: OutputComparison, candidate: str, outcome: Outcome, metrics: Sequence[tuple[str, str]]) -> Row:
    stats = output.stats
    return Row(
        name=output_name(output),
        state=cast(State, output.verdict),
        cells=(*((None,) * len(_OUTPUT_COLUMNS) if stats is None else _cells(stats)), *_metrics(output, metrics)),
        reason=reason_of(output),
        type=output_type(output),
        details=tuple(_details(output, stats)),
        drawing=_histogram(output, stats),
        looks={name: seen[key] for name, seen in outcome.looks.items() if (key := (candidate, output.output)) in seen},
        edge="" if stats is None else f"up to {stats.scale:.3g}, error {figure(stats.max_abs, 2)}",
        lines=tuple(_lines(output, stats, outcome)),
        severity=_severity(output, stats),
    )


def _severity(output: OutputComparison, stats: ErrorStats | None) -> float:
    """Return how bad an output is: without figures worst of all, then by the error as a share of the range."""
    if output.passed:
        return 0.0
    return math.inf if stats is None or stats.share is None or math.isinf(stats.required_abs) else stats.share


def output_name(output: OutputComparison) -> str:
    """Return the output's name, with the reference's where that is another one."""
    if output.reference_output in (None, output.output):
        return output.output
    return f"{output.output} = {output.reference_output}"


def reason_of(output: OutputComparison) -> str:
    """Return the verdict in words, also for an output that passed."""
    stats = output.stats
    reason = output.reason or ("equal" if stats is not None and stats.max_abs == 0 else "within tolerance")
    if output.iterations > 1 and output.failed_iterations:
        return f"{output.failed_iterations} of {output.iterations} iterations: {reason}"
    return reason


def output_type(output: OutputComparison) -> str:
    """Return element type and shape, of both sides where they differ."""
    types = dict.fromkeys(filter(None, (output.candidate_type, output.reference_type)))
    return " / ".join(types)


def _cells(stats: ErrorStats) -> tuple[CellValue, ...]:
    share = f" ({stats.failed / stats.count:.1%})" if stats.failed and stats.count else ""
    beyond = Cell(f"{stats.failed:,}{share}", stats.failed, f"of {stats.count:,} elements")
    if (stats.nan_candidate or stats.nan_reference) and math.isinf(stats.required_abs):
        # The errors are over numbers only; where a NaN counts as a failure it is what to look at.
        nan = Cell("NaN", math.inf)
        return nan, nan, nan, nan, beyond
    of_range = None if stats.share is None else Cell(f"{stats.share:.2g}", stats.share, f"of {stats.scale:.4g}")
    return float(stats.max_abs), of_range, float(stats.mean_abs), float(stats.max_rel), beyond


def _asked_metrics(outputs: Iterable[OutputComparison]) -> list[tuple[str, str]]:
    """Return by function the metric that it judges by, for the functions that were asked for beside the default.

    A function judges by the metric that it puts first.
    """
    metrics: dict[str, str] = {}
    for output in outputs:
        for name, verdict in output.verdicts.items():
            if "max_abs" not in verdict.metrics and verdict.metrics:
                metrics.setdefault(name, next(iter(verdict.metrics)))
            if "quantile_abs" in verdict.metrics:
                metrics.setdefault(name, "quantile_abs")
            elif "median_abs" in verdict.metrics and output.stats is not None and output.stats.p90 is None:
                metrics.setdefault(name, "median_abs")  # beside percentiles it is one of many figures for a page
    return list(metrics.items())


def _metrics(output: OutputComparison, asked: Sequence[tuple[str, str]]) -> Iterator[CellValue]:
    for name, metric in asked:
        verdict = output.verdicts.get(name)
        yield None if verdict is None else verdict.metrics.get(metric)


def _lines(output: OutputComparison, stats: ErrorStats | None, outcome: Outcome) -> Iterator[str]:
    yield f"type: {output_type(output)}"
    yield f"iterations: {output.iterations}"
    if stats is not None:
        share = "" if stats.share is None else f", {stats.share:.3g} of the largest value"
        yield f"largest error: {stats.max_abs:.6g} absolute{share}, {stats.max_rel:.6g} relative"
    if not output.passed:
        for item in outcome.repeats:
            if item.iteration == output.worst_iteration:
                yield f"inputs: {item.inputs}"
                yield f"repeat: {item.command}"


def _histogram(output: OutputComparison, stats: ErrorStats | None) -> Histogram | None:
    if stats is None or stats.histogram is None:
        return None
    limits = (item.tolerance.get("atol") for item in output.verdicts.values() if isinstance(item, DetailedVerdict))
    return error_histogram(stats.histogram.edges, stats.histogram.counts, next(limits, None))


def _details(output: OutputComparison, stats: ErrorStats | None) -> Iterator[Facts]:
    if stats is not None:
        if stats.worst is not None:
            yield Facts("Worst element", tuple(_worst(stats.worst)))
        yield Facts("Statistics", tuple(_statistics(output, stats)))
    if output.verdicts:
        yield Facts("Compare functions", tuple(_functions(output)))


def _worst(worst: Worst) -> Iterator[Fact]:
    yield Fact("index", str(list(worst.index)))
    yield Fact("candidate", str(worst.candidate))
    yield Fact("reference", str(worst.reference))
    if isinstance(worst.candidate, (int, float)) and isinstance(worst.reference, (int, float)):
        yield Fact("difference", figure(abs(worst.candidate - worst.reference)))


def _statistics(output: OutputComparison, stats: ErrorStats) -> Iterator[Fact]:
    yield Fact("elements", f"{stats.count:,}")
    for name, value in (
        ("median", stats.median_abs),
        ("90 %", stats.p90),
        ("95 %", stats.p95),
        ("99 %", stats.p99),
        ("atol that would pass", stats.required_abs),
        ("rtol that would pass", stats.required_rel),
    ):
        yield Fact(name, figure(value))
    if stats.nan_candidate or stats.nan_reference:
        yield Fact("NaN", f"{stats.nan_candidate} in the candidate, {stats.nan_reference} in the reference")
    if output.iterations > 1:
        yield Fact("iteration shown", f"{output.worst_iteration} (the worst of {output.iterations})")


def _functions(output: OutputComparison) -> Iterator[Fact]:
    for name, verdict in output.verdicts.items():
        tolerance = verdict.tolerance if isinstance(verdict, DetailedVerdict) else {}
        metrics = ", ".join(f"{key} {figure(value)}" for key, value in list(verdict.metrics.items())[:_METRICS])
        reason = verdict.reason if len(output.verdicts) > 1 else ""
        yield Fact(
            name,
            ", ".join(f"{key} {value:g}" for key, value in tolerance.items()),
            cast(State, verdict_of(verdict)),
            tuple(filter(None, (metrics, reason))),
        )


def _verdict(outcome: Outcome) -> tuple[str, str]:
    """Return the verdict in capital letters, and what it comes to."""
    if outcome.failed_backends:
        labels = [backend.label for backend in outcome.failed_backends]
        return sentences.ERROR, sentences.backends_failed(labels, _differences(outcome))
    heading = sentences.heading_of(outcome.verdict)
    if outcome.verdict == "error":
        return heading, sentences.NOTHING_IN_COMMON if outcome.comparisons else sentences.NOTHING_RAN
    if outcome.verdict == "failed":
        return heading, _differences(outcome) or sentences.NOT_FINITE
    outputs = [output for pair in outcome.comparisons for output in pair.outputs.values()]
    if outcome.verdict in sentences.INCONCLUSIVE:
        some = _counts(outputs)[outcome.verdict]
        return heading, sentences.outputs_inconclusive(outcome.verdict, some, len(outputs))
    if not outcome.expected:
        return heading, sentences.ONE_RUN
    off = [item.output for item in outputs if item.stats is not None and item.stats.whole and item.stats.max_abs]
    return heading, sentences.outputs_passed(len(outputs), off)


def _differences(outcome: Outcome) -> str:
    outputs = [output for pair in outcome.comparisons for output in pair.outputs.values()]
    failed = _counts(outputs).get("failed")
    if failed:
        return sentences.outputs_differ(failed, len(outputs))
    return next((pair.reason for pair in outcome.comparisons if pair.reason), "")


def _counts(outputs: Iterable[OutputComparison]) -> dict[str, int]:
    """Count the outputs that did not pass by verdict, the gravest first."""
    verdicts = [output.verdict for output in outputs]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict != "passed" and verdict in verdicts}
