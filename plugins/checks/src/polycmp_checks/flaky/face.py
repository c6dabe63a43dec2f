"""Findings on repeated runs, in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.report import Block, Column, Note, Result, Row, Table, backend_failure, verdict_of
from polycmp.sentences import backends_failed, counted, heading_of
from polycmp_checks.flaky.findings import FirstDiffering, FlakyBackend, FlakyFindings, Repeats

_COLUMNS = (
    Column("Most frequent", "number", digits=6, wide=True),
    Column("Max abs", "number"),
)


def result_of(findings: FlakyFindings) -> Result:
    """Build the result of the findings for reports."""
    verdict = verdict_of(findings.exit_code)
    return Result(
        command="flaky",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=_sentence(findings),
        title=" · ".join(subject.label for subject in findings.subjects[:3]),
        content=tuple(block for subject in findings.subjects for block in _blocks(subject, len(findings.subjects) > 1)),
        command_line=findings.command,
        document={
            "schema": 1,
            "verdict": verdict,
            "exit_code": findings.exit_code,
            "command": findings.command,
            "flaky": {subject.label: subject.to_json() for subject in findings.subjects},
        },
    )


def _blocks(subject: FlakyBackend, several: bool) -> Iterator[Block]:
    name = " ".join(filter(None, [subject.label, subject.version and f"({subject.version})"]))
    if subject.error:
        yield Table(
            title=name, rows=(), columns=_COLUMNS, name_title="Output", subject=subject.label,
            suite=f"flaky {subject.label}", problem=backend_failure(subject.label, subject.error, subject.hint),
        )  # fmt: skip
    for repeats, sessions in ((subject.runs, "one session"), (subject.restarts, "a session each")):
        if repeats is not None:
            yield _table(subject, f"{name}, {counted(repeats.runs, 'run')} in {sessions}", repeats, sessions)
    yield from (Note(text, subject.label if several else "") for text in _notes(subject))


def _table(subject: FlakyBackend, title: str, repeats: Repeats, sessions: str) -> Table:
    rows = tuple(
        Row(
            item.name,
            "passed" if item.different == 1 else "failed",
            (item.most_frequent, item.largest if item.different > 1 else 0.0),
            f"{_results(item.different)} in {counted(repeats.runs, 'run')}",
            severity=item.largest or 0.0,
        )
        for item in repeats.outputs
    )
    return Table(
        title=title,
        rows=rows,
        columns=_COLUMNS,
        name_title="Output",
        reason_title="Result",
        subject=subject.label,
        suite=f"flaky {subject.label}, {sessions}",
        summary=_results(repeats.different),
        failures_first=True,
    )


def _notes(subject: FlakyBackend) -> Iterator[str]:
    yield from subject.notes
    single = subject.one_thread
    if single is not None:
        yield f"with one thread: {_results(single.different)} in {counted(single.runs, 'run')}"
    if subject.no_first_reason:
        yield f"the first differing tensor cannot be named: {subject.label} {subject.no_first_reason}"


def _sentence(findings: FlakyFindings) -> str:
    failed = [subject.label for subject in findings.subjects if subject.error]
    several = len(findings.subjects) > 1
    described = [subject for subject in findings.subjects if not subject.error]
    if findings.exit_code:
        described = [subject for subject in described if subject.differs]
    text = "; ".join((f"{subject.label}: " if several else "") + _of_subject(subject) for subject in described)
    return backends_failed(failed, text) if failed else text


def _of_subject(subject: FlakyBackend) -> str:
    runs, restarts = subject.runs, subject.restarts
    assert runs is not None
    text = f"{_results(runs.different)} in {counted(runs.runs, 'run')}"
    if restarts is not None:
        text += f" of one session, {_results(restarts.different)} in {counted(restarts.runs, 'session')}"
    return text + (f"; first differing tensor in model order: {_first(subject.first)}" if subject.first else "")


def _first(first: FirstDiffering) -> str:
    largest = first.tensor.largest
    by = f" (largest difference {largest:.3g})" if largest is not None else ""
    return f"{first.op_type} {first.tensor.name!r}{by}"


def _results(different: int) -> str:
    return "the same bits" if different == 1 else f"{different} different results"
