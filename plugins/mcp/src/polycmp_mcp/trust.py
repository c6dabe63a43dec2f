"""Code that a call may not name: an agent acts on texts that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.command import BackendCommand
from polycmp.errors import UsageError

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Files of code, and keys of a backend that choose another interpreter.
_CODE = re.compile(r"\.(py|pyd|so|dll|dylib)(\W|$)|[:,]\s*python\s*=", re.IGNORECASE)
#: Words after which a command of the user's choice follows, and the option of run files, which are programs, too.
_COMMANDS = frozenset({"--", "--check", "--check-inference", "--config"})


@dataclass(frozen=True)
class Trust:
    """Rules for what callers may ask for.

    Attributes:
        registry: The plugins, whose options say whether they name code.
        scripts: Whether code may be named.
    """

    registry: Registry
    scripts: bool = False

    def check(self, command: str, words: Sequence[str]) -> None:
        """Refuse words of a command line that name code to run.

        Raises:
            UsageError: There is one.
        """
        named = [] if self.scripts else [*self._named(command, words)]
        if named:
            raise UsageError(
                f"{named[0]!r} names code to run",
                why="this server lets nobody name scripts, libraries, interpreters, run files or commands",
                hint="start it with polycmp mcp --allow-scripts, or run the command in a terminal",
            )

    def _named(self, command: str, words: Sequence[str]) -> Iterator[str]:
        flags = frozenset(self._flags(command))
        for word in words:
            flag = word.partition("=")[0]
            if flag in _COMMANDS or flag in flags or _CODE.search(word):
                yield word

    def _flags(self, command: str) -> Iterable[str]:
        """Return the flags of a command that name code."""
        found = self.registry.find_command(command)
        target = self.registry.load(found, found.spec.target)
        if not isinstance(target, BackendCommand):
            return ()
        by_flag = target.table_of(self.registry).by_flag
        return [flag for flag, item in by_flag.items() if item.field.executes]
