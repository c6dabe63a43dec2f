"""Mistakes in a suite file: all of them, each with its line."""

from __future__ import annotations

from polycmp.errors import PolycmpError, UsageError
from polycmp.sentences import counted

#: Mistakes that are shown.
SHOWN = 20


class Mistakes:
    """Mistakes in a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._mistakes: dict[tuple[int, str], None] = {}

    def __len__(self) -> int:
        return len(self._mistakes)

    def add(self, line: int, text: str) -> None:
        """Record a mistake, in line 0 where there are no lines; a repeated text in a line counts once."""
        self._mistakes[line, text] = None

    def add_error(self, line: int, error: PolycmpError) -> None:
        """Record an error."""
        why = f" ({error.why})" if error.why else ""
        whose = f"{error.whose}: " if error.whose else ""
        self.add(line, f"{whose}{error.what}{why}")

    def complain(self) -> None:
        """Raise if there are any.

        Raises:
            UsageError: All of them, in the order of their lines.
        """
        if not self._mistakes:
            return
        lines = [f"line {line}: {text}" if line else text for line, text in sorted(self._mistakes)]
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], f"… and {len(lines) - SHOWN} more"]
        number = len(self._mistakes)
        raise UsageError(
            f"{self._path} has {counted(number, 'mistake')}; nothing was started",
            why="\n".join(lines),
            hint=f"polycmp suite {self._path} --list shows the cases once it is right",
        )
