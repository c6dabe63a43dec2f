"""Lists of alike cases, and properties that are tried on many examples: a few in `make test`, all with the corpus."""

from __future__ import annotations

from collections.abc import Iterable
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
