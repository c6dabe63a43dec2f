"""Logging under the names of `polygraphy.logger`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from polycmp.logger import G_LOGGER as G_LOGGER
from polycmp.logger import Logger as _Logger
from polycmp.logger import LogMode as LogMode
from polycmp.messages import StderrHandler


class SeverityTrie:
    """The least important severity to show, by path: that of the longest beginning of a path that has one.

    Args:
        severity_dict: Severities by path; that of the empty path is for all others.
    """

    def __init__(self, severity_dict: Mapping[str, int]) -> None:
        self._by_path = {_parts(path): severity for path, severity in severity_dict.items()}
        self._default = severity_dict[""]

    def get(self, path: str | None = None) -> int:
        """Return the severity for a path; without one, that of all others."""
        parts = _parts(path or "")
        beginnings = (parts[:length] for length in range(len(parts), -1, -1))
        return next((self._by_path[part] for part in beginnings if part in self._by_path), self._default)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


class Logger(_Logger):
    """A logger of a program's own, beside `G_LOGGER`.

    Args:
        severity: The least important severity to show, or one by path.
        colors: Whether a terminal gets colours.
        letter: Of no effect: a message always begins with the letter of its severity.
        timestamp: Whether to show the time.
        line_info: Whether to show the line that the message comes from.
    """

    def __init__(
        self,
        severity: int | Mapping[str, int] = _Logger.INFO,
        colors: bool = True,
        letter: bool = True,
        timestamp: bool = False,
        line_info: bool = False,
    ) -> None:
        del letter
        wanted = {"timestamp": timestamp, "line-info": line_info, "no-colors": not colors}
        logger = logging.Logger("polygraphy")
        logger.addHandler(StderrHandler([part for part, asked in wanted.items() if asked]))
        super().__init__(logger)
        self._told: list[Callable[[SeverityTrie], None]] = []
        self.module_severity = severity

    @property
    def module_severity(self) -> Any:
        """The least important severity by path; a number alone may be set, too."""
        return self._severities

    @module_severity.setter
    def module_severity(self, value: Any) -> None:
        given = dict(value) if isinstance(value, Mapping) else {"": value}
        self._severities = value if isinstance(value, SeverityTrie) else SeverityTrie({"": self.INFO, **given})
        self._logger.setLevel(max(1, self._severities.get()))
        for callback in self._told:
            callback(self._severities)

    @contextmanager
    def verbosity(self, severity: Any = _Logger.CRITICAL) -> Iterator[Any]:
        """Change the severity for the length of a `with` block.

        Args:
            severity: The least important severity to show, or one by path.
        """
        before, self.module_severity = self._severities, severity
        try:
            yield self
        finally:
            self.module_severity = before

    @property
    def use_python_logging_system(self) -> bool:
        """Whether messages go to the logger `Polygraphy` of Python's logging."""
        return super().use_python_logging_system

    @use_python_logging_system.setter
    def use_python_logging_system(self, value: bool) -> None:
        _Logger.use_python_logging_system.__set__(self, value)  # type: ignore[attr-defined]
        self._logger.parent = logging.getLogger("Polygraphy") if value else None

    def register_callback(self, callback: Callable[[Any], None]) -> None:
        """Call a function with the severities now, and whenever they are set.

        Args:
            callback: The function.
        """
        callback(self._severities)
        self._told.append(callback)
