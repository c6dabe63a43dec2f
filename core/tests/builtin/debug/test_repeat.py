"""`polycmp debug repeat`: until when, what counts, what is kept of each step, and going on after an earlier search."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from counting_check import COUNTING


@pytest.mark.parametrize("until", ["", "never", "0", "-1", "100001", "½"])
def test_until(polycmp, until):
    done = polycmp("debug", "repeat", f"--until={until}", "--check", "true")
    assert (done.status, "--until" in done.err) == (2, True), done.err


def test_until_is_needed(polycmp):
    assert polycmp("debug", "repeat", "--check", "true").status == 2


@pytest.mark.parametrize(
    ("until", "good", "status", "steps"),
    [
        ("4", ("0", "1", "2", "3"), 0, 4),
        ("4", ("1",), 0, 4),
        ("4", (), 0, 4),
        ("good", ("2",), 0, 3),
        ("bad", ("0", "1"), 0, 3),
    ],
)
def test_ends_with(polycmp, until, good, status, steps):
    Path("count.sh").write_text(COUNTING)
    words = ("--until", until, "--report", "found.json", "--check", "sh", "count.sh", *good)
    done = polycmp("debug", "repeat", *words)
    assert done.status == status, done.out + done.err
    assert len(done.report("found.json")["steps"]) == steps


def test_the_user_is_asked_where_there_is_no_check_also_without_a_terminal(polycmp, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("neither\nf\np\n"))
    done = polycmp("debug", "repeat", "--until", "2")
    assert (done.status, done.err.count("[p]ass or [f]ail")) == (0, 3), done.out + done.err
    assert "Finished 2 iteration(s) | Passed: 1/2 | Pass Rate: 50.0%" in done.out
