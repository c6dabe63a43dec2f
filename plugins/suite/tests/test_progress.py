"""What is shown while a suite runs: a line for each case that has ended, and on a terminal what runs now."""

from __future__ import annotations

import sys

import pytest

from polycmp_suite.progress import Progress
from polycmp_suite.result import CaseResult


def case(name, state="passed", **facts):
    """Return the result of a case that took two seconds."""
    return CaseResult(name, state, state, seconds=2.0, **facts)


def test_each_case_that_ended_is_a_line_with_its_place_and_reason(capsys):
    shown = Progress(10, silent=False, jobs=1)
    for result in (case("one"), case("two", "failed", reason="y differs"), case("three", "skipped", reason="no GPU")):
        shown.started(result.case)
        shown.ended(result)
    shown.ended(case("four", "error", reason="it hangs"), again=True)
    shown.ended(case("four", known="bug 7"))
    assert capsys.readouterr().err.splitlines() == [
        "[ 1/10] ok      one (2 s)",
        "[ 2/10] FAIL    two (2 s): y differs",
        "[ 3/10] skipped three: no GPU",
        "[ 3/10] again   four (2 s): it hangs",
        "[ 4/10] known   four (2 s)",
    ]


def test_names_and_reasons_do_nothing_to_a_terminal(capsys):
    Progress(1, silent=False, jobs=1).ended(case("a\x1b[2J\n", "failed", reason="b\x1b[2J\n"))
    assert capsys.readouterr().err == "[1/1] FAIL    a\\x1b[2J\\n (2 s): b\\x1b[2J\\n\n"


def test_a_terminal_shows_what_runs_what_failed_and_how_long_it_may_take(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = Progress(4, silent=False, jobs=2)
    shown.started("one")
    assert capsys.readouterr().err == "\r\x1b[K0/4; 1 running: one 0 s"
    shown.ended(case("one", "failed"))
    for name in ("two", "three"):
        shown.started(name)
    assert capsys.readouterr().err.endswith("1/4, 1 failed, about 3 s left; 2 running: two 0 s, three 0 s")
    shown.close()
    assert capsys.readouterr().err == "\r\x1b[K"


@pytest.mark.parametrize("silent", [True, False])
def test_nothing_is_drawn_where_nobody_looks(capsys, silent):
    shown = Progress(2, silent=silent, jobs=1)
    shown.started("one")
    shown.close()
    assert capsys.readouterr().err == ""
    shown.ended(case("one"))
    assert (capsys.readouterr().err == "") == silent
