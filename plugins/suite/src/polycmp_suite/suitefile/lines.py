"""The line of each key in a TOML file, which no parser tells: `tomllib` and `tomlkit` keep no lines of values.

A statement is what the parser takes by itself: lines are joined until it does, so that nothing here knows how TOML
writes strings, lists or comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polycmp.options import parse_toml


@dataclass
class Place:
    """Lines of a table in a file.

    Attributes:
        line: The line of its header, counted from 1.
        keys: The lines of its keys.
        tables: The tables in it.
    """

    line: int = 1
    keys: dict[str, int] = field(default_factory=dict)
    tables: dict[str, Place] = field(default_factory=dict)

    def of(self, *path: str) -> int:
        """Return the line of a key, or of the nearest table around it."""
        here, line = self, self.line
        for key in path:
            line = here.keys.get(key) or (here.tables[key].line if key in here.tables else line)
            here = here.tables.get(key, Place(line))
        return line


@dataclass
class Lines:
    """Lines of all keys and tables in a file.

    Attributes:
        top: The file's own keys and tables.
        arrays: The tables of each array of tables, in their order.
    """

    top: Place = field(default_factory=Place)
    arrays: dict[str, list[Place]] = field(default_factory=dict)


def find_lines(text: str) -> Lines:
    """Find the line of every key and table in valid TOML."""
    lines = Lines()
    here = lines.top
    for line, is_header, content in _statements(text):
        for key, value in content.items():
            if is_header:
                here = _open(lines, key, value, line)
            else:
                here.keys.setdefault(key, line)
    return lines


def _open(lines: Lines, key: str, value: Any, line: int) -> Place:
    """Return the place of the table that a header opens."""
    if value == [{}]:
        lines.arrays.setdefault(key, []).append(Place(line))
    place = lines.arrays[key][-1] if key in lines.arrays else lines.top.tables.setdefault(key, Place(line))
    while isinstance(value, dict) and value:
        [(part, value)] = value.items()
        place = place.tables.setdefault(part, Place(line))
    return place


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, Any]]]:
    """Yield for each statement its first line, whether it is a header, and its content."""
    statement, first = "", 1
    for line, more in enumerate(text.split("\n"), start=1):
        statement = f"{statement}\n{more}" if statement else more
        if more.rstrip().endswith(",") and "#" not in more:
            continue  # inside a list for certain, of which there are long ones
        try:
            content = parse_toml(statement)
        except ValueError:  # a string or a list goes on in the next line
            continue
        yield first, statement.lstrip().startswith("["), content
        statement, first = "", line + 1
