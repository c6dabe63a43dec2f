"""What this package contributes. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command."""
    yield CommandSpec(
        ("locate",),
        "Find the first tensor inside a model that goes wrong.",
        "polycmp_locate.command:locate_command",
        after_difference=True,
    )
