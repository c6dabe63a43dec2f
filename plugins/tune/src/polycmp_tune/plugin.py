"""Contributions of this package. Light: only `polycmp.spec` is imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute `tune`."""
    yield CommandSpec(
        ("tune",),
        "Find the fastest of many settings whose outputs are right.",
        "polycmp_tune.command:tune_command",
        purpose="compare",
    )
