"""The line of each key in a TOML file, which the parser of the standard library does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*("[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)\s*[.=]""")
#: What changes the state of a scan: delimiters of strings (the long ones first), comments, brackets.
_TOKEN = re.compile(r"\"\"\"|'''|\"|'|#|[\[{]|[\]}]|\n")


@dataclass
class Place:
    """Where a table stands.

    Attributes:
        line: The line of its header, counted from 1.
        keys: The lines of its keys.
        tables: The tables in it.
    """

    line: int = 1
    keys: dict[str, int] = field(default_factory=dict)
    tables: dict[str, Place] = field(default_factory=dict)

    def of(self, *path: str) -> int:
        """Return the line of a key, or of the nearest thing around it that has one."""
        here, line = self, self.line
        for key in path:
            line = here.keys.get(key) or (here.tables[key].line if key in here.tables else line)
            here = here.tables.get(key, Place(line))
        return line


@dataclass
class Lines:
    """Where everything in a file stands.

    Attributes:
        top: The file's own keys and tables.
        arrays: The tables of each array of tables, in their order.
    """

    top: Place = field(default_factory=Place)
    arrays: dict[str, list[Place]] = field(default_factory=dict)


def find_lines(text: str) -> Lines:
    """Find the line of every key and table in valid TOML."""
    found = Lines()
    here = found.top
    for line, statement in _statements(text):
        header = _HEADER.match(statement)
        if header:
            here = _open(found, header[1], header[2], line)
        elif key := _KEY.match(statement):
            here.keys.setdefault(key[1].strip("\"'"), line)
    return found


def _open(found: Lines, bracket: str, name: str, line: int) -> Place:
    first, *rest = [part.strip().strip("\"'") for part in name.split(".")]
    if bracket == "[[" and not rest:
        place = Place(line)
        found.arrays.setdefault(first, []).append(place)
        return place
    place = found.arrays[first][-1] if first in found.arrays else found.top.tables.setdefault(first, Place(line))
    for part in rest:
        place = place.tables.setdefault(part, Place(line))
    return place


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements with the lines in which they begin: strings and lists may span several."""
    line, start, first, depth, quote = 1, 0, 1, 0, ""
    at = 0
    while token := _TOKEN.search(text, at):
        what, at = token[0], token.end()
        if quote:
            if what == quote and not (quote[0] == '"' and _escaped(text, token.start())):
                quote = ""
        elif what in {'"""', "'''", '"', "'"}:
            quote = what
        elif what == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif what in "[{":
            depth += 1
        elif what in "]}":
            depth -= 1
        if what == "\n":
            line += 1
            if depth <= 0 and not quote:
                yield first, text[start : token.start()]
                start, first = at, line
    yield first, text[start:]


def _escaped(text: str, at: int) -> bool:
    backslashes = 0
    while text[at - 1 - backslashes] == "\\":
        backslashes += 1
    return backslashes % 2 == 1
