"""The exit status of a search, by its verdict."""

from __future__ import annotations

import pytest

from polycmp_locate import result
from polycmp_locate.report.face import result_of


@pytest.mark.parametrize(
    ("verdict", "status", "heading"),
    [
        (result.EQUAL, 0, "NOTHING FOUND"),
        (result.WITHIN_ROUNDING, 0, "NOTHING FOUND"),
        (result.WRONG, 1, "FOUND"),
        (result.UNSTEADY, 1, "FOUND"),
        (result.UNDECIDED, 3, "UNDECIDED"),
        (result.NOT_JUDGED, 3, "COULD NOT COMPARE EVERYTHING"),
    ],
)
def test_the_exit_status_follows_from_the_verdict(verdict, status, heading):
    found = result.Located("new", "old", verdict=verdict)
    shown = result_of(found)
    assert (found.exit_code, shown.heading, shown.exit_code) == (status, heading, status)
