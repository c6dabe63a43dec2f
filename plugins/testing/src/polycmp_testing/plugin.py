"""What this package contributes. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command that begins a plugin."""
    yield CommandSpec(
        ("plugins", "new"), "Write a distribution for a new backend.", "polycmp_testing.scaffold:new_command"
    )
