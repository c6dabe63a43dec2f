"""Properties that are tried on many examples: a fifth of them in `make test`, all with the corpus."""

from __future__ import annotations

import pytest

#: How many parts there are. Each draws examples of its own, at random.
PARTS = 5
#: Runs a property once, and with the corpus once more for each further part; the test takes `part` first.
in_parts = pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.corpus) for n in range(1, PARTS))])
