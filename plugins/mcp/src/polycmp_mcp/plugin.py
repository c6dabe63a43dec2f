"""Contributions of this package. Light: only the standard library and `polycmp.spec` are imported here."""

from __future__ import annotations

from collections.abc import Iterable

from polycmp.spec import CommandSpec, hookimpl


@hookimpl
def polycmp_commands() -> Iterable[CommandSpec]:
    """Contribute the command."""
    yield CommandSpec(
        ("mcp",), "Serve polycmp to AI agents over the Model Context Protocol (MCP).", "polycmp_mcp.command:mcp_command"
    )
