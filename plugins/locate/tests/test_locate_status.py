"""The exit status of a search, by its verdict."""

from __future__ import annotations

import pytest

from polycmp_locate import result
from polycmp_locate.report.face import result_of


@pytest.mark.parametrize(
    ("verdict", "status", "heading", "word"),
    [
        (result.EQUAL, 0, "NOTHING FOUND", "passed"),
        (result.WITHIN_ROUNDING, 0, "NOTHING FOUND", "passed"),
        (result.WRONG, 1, "FOUND", "failed"),
        (result.UNSTEADY, 1, "FOUND", "failed"),
        (result.UNDECIDED, 3, "UNDECIDED", "undecided"),
        (result.NOT_JUDGED, 3, "COULD NOT COMPARE EVERYTHING", "error"),
    ],
)
def test_the_exit_status_follows_from_the_verdict(verdict, status, heading, word):
    found = result.Located("new", "old", verdict=verdict)
    shown = result_of(found)
    assert (found.exit_code, shown.heading, shown.exit_code) == (status, heading, status)
    assert (shown.document["verdict"], shown.verdict) == (word, word)
