"""Results of all commands: verdict, exit status, sentence and time belong together."""

from __future__ import annotations

import pytest

from polycmp.report import (
    Result,
    verdict_of,
)


@pytest.mark.parametrize(("code", "verdict"), [(0, "passed"), (1, "failed"), (3, "error")])
def test_verdict_and_exit_status_cannot_disagree(code, verdict):
    assert verdict_of(code) == verdict
    assert Result("run", verdict, "", "").exit_code == code


@pytest.mark.parametrize(("seconds", "words"), [(0.125, "0.12 s"), (9.94, "9.9 s"), (99.9, "100 s"), (172.2, "172 s")])
def test_seconds_of_a_result(seconds, words):
    made = Result("t", "passed", "PASSED", "1 of 1 output agrees", seconds=seconds, timed=True)
    assert made.summary == f"PASSED: 1 of 1 output agrees ({words})"
