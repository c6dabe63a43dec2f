"""`polycmp debug repeat`. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command that repeats a check."""
    yield CommandSpec(
        ("debug", "repeat"),
        "Run a check again and again.",
        "polycmp.builtin.debug.repeating:repeat_command",
        "Narrow down a failure: reduce models, repeat runs, raise precision.",
        purpose="find",
    )
