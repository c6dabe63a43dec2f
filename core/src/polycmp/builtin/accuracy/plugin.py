"""Metrics that a run saves, and `check accuracy`. Light: it imports the standard library and `polycmp.spec` only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import CommandSpec, ObserverSpec, hookimpl, opt


@dataclass(frozen=True)
class AccuracyOptions:
    """Destination of the metrics of a run."""

    results: str = opt(
        "",
        help="Save metrics and verdicts, so that `polycmp check accuracy` can judge them again.",
        alias="--save-accuracy-results",
        metavar="FILE",
        writes=True,
    )


@hookimpl
def polycmp_run_observers() -> Iterable[ObserverSpec]:
    """Contribute the file of metrics, written while `run` compares."""
    yield ObserverSpec(
        "accuracy",
        "Metrics, to be judged again later",
        "polycmp.builtin.accuracy.recorder:record",
        options=AccuracyOptions,
        detail=True,
    )


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `check accuracy`."""
    yield CommandSpec(
        ("check", "accuracy"),
        "Judge saved metrics with other tolerances.",
        "polycmp.builtin.accuracy.command:accuracy_command",
        "Judge saved metrics again; find faults in models.",
        purpose="guard",
    )
