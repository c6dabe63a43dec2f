"""Findings of the checks in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polycmp.report import Column, Fact, Result, Row, Table, backend_failure, verdict_of
from polycmp.sentences import ERROR, FAILED, PASSED, counted
from polycmp_checks.invariants.findings import BackendFindings, InvariantFindings


def result_of(findings: InvariantFindings) -> Result:
    """Build the result of the findings for reports."""
    heading, sentence = _verdict(findings)
    return Result(
        command="invariants",
        verdict=verdict_of(findings.exit_code),
        heading=heading,
        sentence=sentence,
        title=" · ".join(subject.label for subject in findings.subjects[:3]),
        content=tuple(_table(subject) for subject in findings.subjects),
        facts=tuple(_facts(findings)),
        command_line=findings.command,
        document=findings.to_json(),
    )


def _table(subject: BackendFindings) -> Table:
    title = " ".join(filter(None, [subject.label, subject.version and f"({subject.version})"]))
    failure = backend_failure(subject.label, subject.error, subject.hint)
    return Table(
        title=title + (f", batch: {subject.batch}" if subject.batch else ""),
        rows=tuple(Row(check.name, check.status, (check.max_error,), check.reason) for check in subject.checks),
        columns=(Column("Max abs", "number", wide=True),),
        name_title="Invariant",
        reason_title="Result",
        subject=subject.label,
        suite=f"invariants {subject.label}",
        summary=_summary(subject),
        problem=failure if subject.error else None,
    )


def _counts(subjects: Sequence[BackendFindings]) -> dict[str, int]:
    statuses: list[str] = [check.status for subject in subjects for check in subject.checks]
    return {status: statuses.count(status) for status in ("passed", "failed", "skipped", "error")}


def _summary(subject: BackendFindings) -> str:
    words = {"passed": "hold", "failed": "do not hold", "error": "could not be checked", "skipped": "do not apply"}
    counts = _counts([subject])
    return ", ".join(f"{counts[status]} {text}" for status, text in words.items() if counts[status])


def _facts(findings: InvariantFindings) -> Iterator[Fact]:
    counts = _counts(findings.subjects)
    yield Fact("backends", str(len(findings.subjects)))
    yield Fact("invariants that hold", f"{counts['passed']} / {sum(counts.values()) - counts['skipped']}")
    yield Fact("do not apply", str(counts["skipped"]))


def _verdict(findings: InvariantFindings) -> tuple[str, str]:
    """Return the heading and the sentence of the verdict."""
    counts = _counts(findings.subjects)
    total = sum(counts.values())
    skipped = f", {counts['skipped']} {_do(counts['skipped'])} not apply" if counts["skipped"] else ""
    if findings.verdict == "error":
        broken = [subject.label for subject in findings.subjects if subject.error]
        what = f"{', '.join(broken)} failed" if broken else f"{counts['error']} of {total} checks"
        what = what if broken or counts["error"] else "no check applies"
        failures = f"; {counts['failed']} {_do(counts['failed'])} not hold" if counts["failed"] else ""
        return ERROR, f"{what}{failures}"
    if findings.verdict == "failed":
        return FAILED, f"{counts['failed']} of {counted(total, 'invariant')} {_do(counts['failed'])} not hold{skipped}"
    return PASSED, f"{counted(counts['passed'], 'invariant')} hold{'s' * (counts['passed'] == 1)}{skipped}"


def _do(number: int) -> str:
    return "does" if number == 1 else "do"
