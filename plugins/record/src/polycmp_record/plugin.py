"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command."""
    yield CommandSpec(
        ("record",),
        "Run a program and keep the inputs and outputs of its models.",
        "polycmp_record.command:record",
        purpose="compare",
    )
