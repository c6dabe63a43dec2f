"""Metrics that a run saves, and `check accuracy`. Light: it imports the standard library and `polycmp.spec` only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, ReportSpec, hookimpl, opt


@dataclass(frozen=True)
class AccuracyOptions:
    """Destination of the metrics of a run."""

    results: str = opt(
        "",
        help="Save metrics and verdicts, to judge them again with `polycmp check accuracy`.",
        alias="--save-accuracy-results",
        metavar="FILE",
        writes=True,
    )


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the file of metrics, written while `run` compares."""
    yield ReportSpec(
        "",
        "Metrics, to be judged again later",
        "",
        name="accuracy",
        options=AccuracyOptions,
        record="polycmp.builtin.accuracy.recorder:record",
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `check accuracy`."""
    yield CommandSpec(
        ("check", "accuracy"),
        "Judge saved metrics with other tolerances.",
        "polycmp.builtin.accuracy.command:accuracy_command",
        "Check saved metrics, and models.",
    )
