"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polycmp.spec import ReportSpec, hookimpl, opt


@dataclass(frozen=True)
class ScriptOptions:
    """Destination of the script."""

    file: str = opt(
        "",
        help="Write a Python script that does the same, instead of running; - prints it.",
        alias=("--gen-script", "--gen"),
        metavar="FILE",
        writes=True,
    )


@hookimpl
def polycmp_reports() -> Iterable[ReportSpec]:
    """Contribute the script that does the same as a command."""
    yield ReportSpec(
        "",
        "A Python script that does the same",
        "",
        name="script",
        options=ScriptOptions,
        tools="polycmp.builtin.api.tools:ScriptTools",
    )
