"""`polycmp suite diff OLD NEW`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.sentences import counted, heading_of
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.command import Invocation
    from polycmp.report import Result
    from polycmp_suite.changes import Changes

EPILOG = """\b
OLD and NEW are folders of one run, folders of runs, or SQLite files written with --history. Of several runs, OLD is the
last that passed, and NEW the last; past times come from all of them.
Exit status: 0 nothing is worse, 1 something is, 2 wrong usage, 3 a run cannot be read."""


@dataclass(frozen=True)
class DiffSection:
    """Comparing runs."""

    max_slowdown: float = opt(
        0.0,
        help="Worse is also an inference that takes longer than so many times the median of past runs, "
        "beyond their noise.",
        metavar="FACTOR",
    )


def _diff(call: Invocation) -> int:
    from polycmp.errors import UsageError
    from polycmp_suite.changes import compare
    from polycmp_suite.history import describe, latest

    old, new = call.params["old"], call.params["new"]
    call.begin(reads=[("OLD", old), ("NEW", new)])
    limit = call.section(DiffSection).max_slowdown
    if limit < 0:
        raise UsageError("--max-slowdown must be above zero")
    before, (name, now) = describe(old), latest(new)
    changes = compare(before.name, before.cases, before.times, now, limit)
    return call.present(_result(changes, name, call.options.command))


def _result(changes: Changes, name: str, command_line: str) -> Result:
    from polycmp.report import Column, Fact, Note, Result, Row, Table, Verdict

    worse = sum(change.worse for change in changes.changes)
    rows = tuple(
        Row(
            change.case,
            "failed" if change.worse else "passed",
            (change.kind,),
            change.text,
            mark="" if change.worse else "note",
        )
        for change in sorted(changes.changes, key=lambda change: not change.worse)
    )
    table = Table(
        title=f"{name} against {changes.since}",
        rows=rows,
        columns=(Column("Change"),),
        name_title="Case",
        reason_title="What changed",
        summary=f"{worse} worse",
        failures_first=True,
    )
    number = len(changes.changes)
    verdict: Verdict = "failed" if worse else "passed"
    return Result(
        command="suite diff",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=f"{counted(number, 'change')}, {worse or 'none'} for the worse",
        title=f"{name} against {changes.since}",
        content=(*([table] if rows else []), *(Note(text) for text in changes.notes)),
        facts=(Fact("changes", str(number)), Fact("worse", str(worse))),
        command_line=command_line,
        document={"schema": 1, **changes.to_json()},
    )


diff_command = BackendCommand(
    "diff",
    _diff,
    options=(DiffSection, "result.report", "log"),
    plugins=("report",),
    params=[
        click.Argument(["old"], metavar="OLD"),
        click.Argument(["new"], metavar="NEW"),
        *verbosity_params("every change"),
    ],
    help="Show what changed between two runs of a suite."
    + examples(
        "polycmp suite diff nightly-results/2026-01-31T02-00-00Z nightly-results/latest",
        "polycmp suite diff history.sqlite nightly-results/latest --max-slowdown 1.2",
    ),
    epilog=EPILOG,
)
