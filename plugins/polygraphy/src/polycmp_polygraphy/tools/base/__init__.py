"""The base of Polygraphy's commands: programs import it, and those that make one are told what replaces it."""

from __future__ import annotations

from typing import Any

from polycmp.errors import UsageError

__all__ = ["Tool"]


class Tool:
    """A command of Polygraphy's command line, which cannot be made here."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        del arguments, named
        raise UsageError(
            "polygraphy.tools: commands of Polygraphy cannot be made on polycmp",
            hint="polycmp plugins new NAME writes a package with a command: docs/writing-a-command.md",
        )
