"""Variables that polycmp sets in its own environment, and the environment of whoever called it."""

from __future__ import annotations

import os
from collections.abc import Mapping

#: Names of the variables that polycmp has set; the environment is the process's, and so are they.
_ours: set[str] = set()


def add_missing(variables: Mapping[str, str]) -> list[str]:
    """Set the variables that the caller has not set, and return their names."""
    added = [name for name in variables if name not in os.environ]
    os.environ.update({name: variables[name] for name in added})
    _ours.update(added)
    return added


def remove(names: list[str]) -> None:
    """Remove variables that `add_missing` has set."""
    for name in names:
        os.environ.pop(name, None)
        _ours.discard(name)


def callers_environment() -> dict[str, str]:
    """Return the environment without what polycmp has set in it, for a program that is the user's."""
    return {name: value for name, value in os.environ.items() if name not in _ours}
