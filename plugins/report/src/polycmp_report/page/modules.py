"""Grouping of neighbours in a model: those whose names begin with the same module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

#: Number of groups that fit an axis.
_MOST = 16
_SEPARATOR = re.compile(r"[/.:]+")


@dataclass(frozen=True)
class Group:
    """Neighbours that belong together.

    Attributes:
        name: The module that their names begin with; empty for what is in none.
        first: The place of the first of them.
        last: The place of the last.
    """

    name: str
    first: int
    last: int


def groups_of(names: Sequence[str]) -> list[Group]:
    """Return the groups of names, as fine as fits; none where names do not tell modules.

    Args:
        names: The names in the order of the model: parts between `/`, `.` or `:`, the last of them the thing itself.
    """
    paths = [[part for part in _SEPARATOR.split(name) if part][:-1] for name in names]
    deepest = max((len(path) for path in paths), default=0)
    best: list[Group] = []
    for depth in range(1, deepest + 1):
        groups: list[Group] = []
        for key, members in groupby(range(len(paths)), lambda at, depth=depth: tuple(paths[at][:depth])):  # type: ignore[misc]
            places = list(members)
            groups.append(Group(_name(key), places[0], places[-1]))
        if len(groups) > _MOST:
            break
        if len(groups) > 1:
            best = groups
    return best


def _name(path: Sequence[str]) -> str:
    """Return a module's own name, with the one around it where it is a number: `layer.0`."""
    return ".".join(path[-2:] if path and path[-1].isdigit() else path[-1:])
