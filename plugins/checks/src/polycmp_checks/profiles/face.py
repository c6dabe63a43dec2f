"""Result of a measurement, in the form that reports render."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from polycmp.report import Block, Column, NextStep, Note, Result, Row, Table, Verdict, backend_failure
from polycmp.sentences import backends_failed, counted, heading_of
from polycmp_checks.profiles.measure import MeasuredOutput, Measurement
from polycmp_checks.profiles.profile import Limit

_COLUMNS = (
    Column("Largest", "number"),
    Column("Coarser type", "number", wide=True),
    Column("Abs limit", "number"),
    Column("Rel limit", "number"),
    Column("Comparisons", "number", digits=6, wide=True),
)


def result_of(measurement: Measurement, command_line: str, next_command: str) -> Result:
    """Build the result of a measurement for reports.

    Args:
        measurement: The measurement.
        command_line: The command line as typed.
        next_command: The command that uses the profile.
    """
    failed = [result for result in measurement.results if result.error]
    limits = dict(measurement.profile.outputs) if measurement.profile is not None else {}
    untold = [name for name, limit in limits.items() if limit.cannot_tell]
    verdict: Verdict = "error" if measurement.profile is None else "undecided" if untold else "passed"
    problems = tuple(backend_failure(result.label, result.error or "", result.hint) for result in failed)
    content: tuple[Block, ...] = problems
    if measurement.profile is not None:
        content = (
            _table(measurement, limits),
            *(Note(text) for text in measurement.notes),
            NextStep(next_command, "judge by it"),
        )
    return Result(
        command="calibrate",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=_sentence(measurement, [result.label for result in failed], untold),
        title=" · ".join(result.label for result in measurement.results[:3]),
        content=content,
        command_line=command_line,
        document={
            "schema": 1, "verdict": verdict, "command": command_line, "inputs": measurement.inputs,
            "backends": {
                result.label: {"version": result.version, "error": result.error} for result in measurement.results
            },
            "outputs": {name: asdict(limit) for name, limit in limits.items()},
        },
    )  # fmt: skip


def _sentence(measurement: Measurement, failed: list[str], untold: list[str]) -> str:
    if measurement.profile is None:
        return backends_failed(failed) if failed else "nothing ran"
    total = counted(len(measurement.profile.outputs), "output")
    if untold:
        return f"limits for {total}, of which {len(untold)} cannot tell rounding from a coarser type"
    return f"limits for {total}, measured on {counted(measurement.inputs, 'input')}"


def _table(measurement: Measurement, limits: dict[str, Limit]) -> Table:
    return Table(
        title="",
        rows=tuple(_row(name, measurement.outputs[name], limit) for name, limit in limits.items()),
        columns=_COLUMNS,
        name_title="Output",
        reason_title="Limit",
        suite="calibrate",
        heading="Limits",
    )


def _row(name: str, item: MeasuredOutput, limit: Limit) -> Row:
    cells: tuple[Any, ...] = (
        item.largest, item.coarse if item.coarser else None, limit.abs, limit.rel, item.comparisons
    )  # fmt: skip
    if limit.cannot_tell:
        return Row(name, "undecided", cells, f"cannot tell: {limit.cannot_tell}")
    if not limit.abs:
        return Row(name, "passed", cells, "equal in all comparisons")
    return Row(name, "passed", cells, f"the largest error: {item.widest}; refuses {item.coarser}")
