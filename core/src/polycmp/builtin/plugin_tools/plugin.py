"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the commands that begin a plugin and check one."""
    yield CommandSpec(
        ("plugins", "check"),
        "Import everything that plugins name.",
        "polycmp.builtin.plugin_tools.check_command:check_command",
    )
    yield CommandSpec(
        ("plugins", "new"),
        "Write a distribution for a new backend.",
        "polycmp.builtin.plugin_tools.scaffold:new_command",
    )
