"""A run of a suite in the form that reports render: a table per model, a row per case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polycmp.report import Column, Fact, Facts, Note, Result, Row, Table, Verdict
from polycmp.sentences import counted, heading_of
from polycmp_report.identity import Identity
from polycmp_suite.releases import document_of, facts_of, rows_of
from polycmp_suite.result import CaseResult

_COLUMNS = (
    Column("Backends"),
    Column("Max abs", "number"),
    Column("Time", "duration"),
    Column("Memory", wide=True),
    Column("Attempts", "number", wide=True),
)

#: Results of cases, and the words for their numbers.
_WORDS = {
    "passed": "passed",
    "known": "known to fail",
    "failed": "failed",
    "undecided": "undecided",
    "blind": "blind",
    "error": "not compared",
    "skipped": "skipped",
}

#: Verdicts on cases that the verdict over all may be, the weightiest first.
_WORST_FIRST: tuple[Verdict, ...] = ("failed", "undecided", "blind")


def verdict_over(results: Iterable[CaseResult]) -> Verdict:
    """Return the one verdict: `error` if a case could not be compared, or none was, else the weightiest of a case."""
    states = [result.state for result in results]
    if "error" in states or all(state == "skipped" for state in states):
        return "error"
    return next((verdict for verdict in _WORST_FIRST if verdict in states), "passed")


def summarize(
    name: str,
    results: Sequence[CaseResult],
    models: Mapping[str, Identity],
    *,
    missing: int = 0,
    incomplete: str = "",
    regressions: Sequence[str] = (),
    notes: Sequence[str] = (),
    page: str = "",
    command_line: str = "",
    seconds: float = 0.0,
    document: Mapping[str, Any] | None = None,
    places: Mapping[str, tuple[str, int]] | None = None,
) -> Result:
    """Return a run as reports render it.

    Args:
        name: The suite.
        results: Results of the cases, in the order of the suite.
        models: Identity of each model, by path.
        missing: Number of cases that have not been run.
        incomplete: Why they cannot stand for the suite, in words, such as a shard that is missing; else empty.
        regressions: Changes for the worse since the baseline that are no failures by themselves.
        notes: Remarks on the whole.
        page: Path of the page with all results.
        command_line: The command line as typed.
        seconds: Duration in seconds.
        document: More for the JSON report.
        places: File and line of each case in the suite, by its name.
    """
    verdict = "error" if incomplete or not results else verdict_over(results)
    if verdict == "passed" and regressions:
        verdict = "failed"
    releases = rows_of(results)
    sentence = "; ".join(filter(None, (incomplete, _sentence(results, missing, len(regressions)))))
    counts = _counts(results)
    return Result(
        command="suite",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=sentence,
        title=name,
        content=(
            *_tables(results, models, places or {}),
            *facts_of(releases),
            *_regressions(regressions),
            *_notes(notes, page),
        ),
        facts=tuple(Fact(word, str(number)) for word, number in counts.items()),
        command_line=command_line,
        seconds=seconds,
        timed=True,
        document={
            "schema": 1,
            "suite": name,
            "verdict": verdict,
            "sentence": sentence,
            "counts": counts,
            "not_run": missing,
            "seconds": seconds,
            "command": command_line,
            "models": {key: facts.to_json() for key, facts in models.items()},
            **({"releases": document_of(releases)} if releases else {}),
            "cases": [result.to_json() for result in results],
            **(document or {}),
        },
    )


def _counts(results: Iterable[CaseResult]) -> dict[str, int]:
    marks = [result.mark for result in results]
    return {word: marks.count(mark) for mark, word in _WORDS.items()}


def _notes(texts: Sequence[str], page: str) -> list[Note]:
    return [*(Note(text) for text in texts), *([Note(page, label="page")] if page else [])]


def _sentence(results: Sequence[CaseResult], missing: int, regressions: int) -> str:
    parts = [f"{number} {word}" for word, number in _counts(results).items() if number]
    parts += [f"{missing} not run"] if missing else []
    parts += [f"{regressions} worse than the baseline"] if regressions else []
    total = len(results) + missing
    return f"{counted(total, 'case')}: {', '.join(parts) or 'none was run'}"


def _tables(
    results: Sequence[CaseResult], models: Mapping[str, Identity], places: Mapping[str, tuple[str, int]]
) -> list[Table]:
    by_model: dict[str, list[CaseResult]] = {}
    for result in results:
        by_model.setdefault(result.model, []).append(result)
    return [_table(model, cases, models.get(model), places) for model, cases in by_model.items()]


def _table(
    model: str, cases: Sequence[CaseResult], facts: Identity | None, places: Mapping[str, tuple[str, int]]
) -> Table:
    title = f"{model or 'no model'}{f' ({facts.words})' if facts else ''}"
    good = sum(case.state == "passed" for case in cases)
    return Table(
        title=title,
        rows=tuple(_row(case, *places.get(case.case, ("", 0))) for case in cases),
        columns=_COLUMNS,
        name_title="Case",
        reason_title="Reason",
        subject=model or "no model",
        subject_title="Model",
        suite=model or "no model",
        about=facts.words if facts else "",
        summary=f"{good} of {len(cases)} passed",
        failures_first=True,
    )


def _row(case: CaseResult, file: str, line: int) -> Row:
    reason = case.explanation if case.state != "passed" or case.known else ""
    if case.known:
        reason = f"{case.reason} (known: {case.known})"
    details = [Fact("command", case.command_line)]
    details += [Fact("located", case.located)] if case.located else []
    details += [Fact("drift", case.drift)] if case.drift else []
    details += [Fact(f"median of {label}", f"{value * 1e3:.3g} ms") for label, value in case.times.items()]
    details += [Fact(f"version of {label}", value) for label, value in case.versions.items()]
    details += [Fact("where", case.where)] if case.where else []
    return Row(
        name=case.case,
        state=case.state,
        cells=(
            case.versioned,
            case.max_error,
            case.seconds if case.state != "skipped" else None,
            f"{case.memory / 2**20:.0f} MiB" if case.memory else "",
            case.attempts,
        ),
        reason=reason,
        mark="known" if case.mark == "known" else "",
        tags=case.tags,
        details=(Facts("Case", tuple(details)),),
        file=file,
        line=line,
    )


def _regressions(texts: Sequence[str]) -> list[Facts]:
    if not texts:
        return []
    return [
        Facts(
            "Worse than the baseline",
            tuple(Fact(text.partition(": ")[0], text.partition(": ")[2], "failed") for text in texts),
        )
    ]
