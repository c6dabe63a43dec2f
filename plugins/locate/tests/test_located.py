"""The exit status of a search, by its verdict."""

from __future__ import annotations

import pytest

from polycmp_locate.report.presentation import result_of
from polycmp_locate.values import judged
from polycmp_locate.values.located import Located


@pytest.mark.parametrize(
    ("verdict", "status", "heading", "word"),
    [
        (judged.EQUAL, 0, "NO FAULT", "passed"),
        (judged.WITHIN_ROUNDING, 0, "NO FAULT", "passed"),
        (judged.WRONG, 1, "FOUND", "failed"),
        (judged.UNSTEADY, 1, "FOUND", "failed"),
        (judged.UNDECIDED, 3, "UNDECIDED", "undecided"),
        (judged.NOT_JUDGED, 3, "ERROR", "error"),
    ],
)
def test_the_exit_status_follows_from_the_verdict(verdict, status, heading, word):
    found = Located("new", "old", judged.Judged(verdict=verdict))
    shown = result_of(found)
    assert (found.exit_code, shown.heading, shown.exit_code) == (status, heading, status)
    assert (shown.document["verdict"], shown.verdict) == (word, word)
