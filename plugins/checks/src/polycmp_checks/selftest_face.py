"""Results of self-tests in the form that reports render."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polycmp.errors import EXIT_OK
from polycmp.report import Column, Fact, Result, Row, State, Table, Verdict, verdict_of
from polycmp.sentences import ERROR, FAILED, PASSED, UNDECIDED, counted
from polycmp_checks.selftest import SelfTest

_STATES: dict[str, State] = {
    "seen": "passed", "unseen": "failed", "undecided": "undecided", "skipped": "skipped", "error": "error"
}  # fmt: skip


def result_of(selftests: Sequence[SelfTest], command_line: str) -> Result:
    """Build the result of the findings for reports.

    Args:
        selftests: The self-test of each backend.
        command_line: The command line as typed.
    """
    exit_code = max((item.exit_code for item in selftests), default=EXIT_OK)
    heading, sentence = _verdict(selftests)
    return Result(
        command="selftest",
        verdict=_word(heading, exit_code),
        heading=heading,
        sentence=sentence,
        title=" · ".join(item.label for item in selftests[:3]),
        content=tuple(_table(item) for item in selftests),
        facts=_facts(selftests),
        command_line=command_line,
        document=_document(selftests, _word(heading, exit_code), exit_code, command_line),
    )


def _word(heading: str, exit_code: int) -> Verdict:
    return "undecided" if heading == UNDECIDED else verdict_of(exit_code)


def _facts(selftests: Sequence[SelfTest]) -> tuple[Fact, ...]:
    counts = _counts(selftests)
    return (
        Fact("backends", str(len(selftests))),
        Fact("faults seen", f"{counts['seen']} / {sum(counts.values()) - counts['skipped']}"),
        Fact("cannot show here", str(counts["skipped"])),
    )


def _document(selftests: Sequence[SelfTest], verdict: Verdict, exit_code: int, command_line: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "verdict": verdict,
        "exit_code": exit_code,
        "command": command_line,
        "selftest": {item.label: item.to_json() for item in selftests},
    }


def _table(item: SelfTest) -> Table:
    state: State = "error" if item.agrees is None else "passed" if item.agrees else "failed"
    itself = Row("none", state, ("",), item.reason or "equal to itself")
    counts = _counts([item])
    return Table(
        title=item.label,
        rows=(itself, *(Row(trial.fault, _STATES[trial.status], (trial.at,), trial.reason) for trial in item.trials)),
        columns=(Column("At"),),
        name_title="Fault",
        reason_title="What the comparison says",
        subject=item.label,
        suite=f"selftest {item.label}",
        summary=f"{counts['seen']} of {len(item.trials)} faults seen",
    )


def _counts(selftests: Sequence[SelfTest]) -> dict[str, int]:
    statuses: list[str] = [trial.status for item in selftests for trial in item.trials]
    return {status: statuses.count(status) for status in _STATES}


def _verdict(selftests: Sequence[SelfTest]) -> tuple[str, str]:
    """Return the heading and the sentence of the verdict."""
    count = _counts(selftests)
    total = sum(count.values())
    skipped = f", {count['skipped']} cannot show in this model with these inputs" if count["skipped"] else ""
    if any(item.agrees is None for item in selftests):
        return ERROR, "a backend failed without any fault injected"
    if count["error"]:
        return ERROR, f"{count['error']} of {total} faults could not be tried"
    if not all(item.agrees for item in selftests):
        return FAILED, "a backend does not agree with itself"
    if count["unseen"]:
        return FAILED, f"{count['unseen']} of {counted(total, 'fault')} went unnoticed{skipped}"
    if count["undecided"]:
        return UNDECIDED, f"{count['undecided']} of {counted(total, 'fault')} may be rounding, too{skipped}"
    if not count["seen"]:
        return ERROR, "no fault shows in this model with these inputs"
    return PASSED, f"{count['seen']} of {counted(total, 'fault')} noticed{skipped}"
