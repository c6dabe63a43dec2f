"""Lists of alike cases, combinations, and properties with many examples: a few in `make test`, all with the corpus."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

#: How many parts there are. Each draws examples of its own, at random.
PARTS = 5
#: Runs a property once, and with the corpus once more for each further part; the test takes `part` first.
in_parts = pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.corpus) for n in range(1, PARTS))])


def a_few(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return values to parametrize a test with, of which all but the first are tried with the corpus.

    Args:
        values: The values of one parameter.
        count: How many are tried in `make test`.
    """
    return [value if at < count else pytest.param(value, marks=pytest.mark.corpus) for at, value in enumerate(values)]


def each_once(*lists: Iterable[Any]) -> list[Any]:
    """Return all combinations of values; `make test` tries as few of them as it takes to try each value.

    Args:
        lists: The values of each parameter, with marks where they have some.
    """
    values = [
        [item if isinstance(item, type(pytest.param())) else pytest.param(item) for item in items] for items in lists
    ]
    tried = {tuple(at % len(items) for items in values) for at in range(max(map(len, values)))}
    combinations = []
    for place in product(*(range(len(items)) for items in values)):
        chosen = [items[at] for items, at in zip(values, place, strict=True)]
        marks = [mark for item in chosen for mark in item.marks] + ([] if place in tried else [pytest.mark.corpus])
        combinations.append(pytest.param(*(value for item in chosen for value in item.values), marks=marks))
    return combinations


def spelled(value: Any) -> str | None:
    """Return the name of a case that is words of a command line; what pytest calls it where it is not."""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else None
