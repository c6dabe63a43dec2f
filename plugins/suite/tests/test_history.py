"""What changed between runs: verdicts, errors, and times that are no noise."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from suite_texts import CASE, GOOD, HEAD


def test_a_folder_and_a_file_of_runs_are_the_same_baseline(suite, two_runs):
    first, second = two_runs
    for old in ("suite-results", "h.sqlite"):
        done = suite("diff", old, second, "--report", "d.json", status=1)
        assert json.loads((suite.folder / "d.json").read_text())["since"] == first.name, done.stdout


def test_a_slower_case_fails_the_suite(suite):
    suite.write(HEAD + GOOD)
    for _ in range(3):
        suite("suite.toml", "--history", "h.sqlite", status=0)
    database = sqlite3.connect(suite.folder / "h.sqlite")
    for number, (row, times) in enumerate(database.execute("select rowid, times from cases").fetchall()):
        old = dict.fromkeys(json.loads(times), 1e-09 * (1 + number))
        database.execute("update cases set times = ? where rowid = ?", (json.dumps(old), row))
    database.commit()
    database.close()
    done = suite("suite.toml", "--baseline", "h.sqlite", "--max-slowdown", 1.2, status=1)
    assert "worse than the baseline" in done.stdout
    assert "good" in done.stdout
    assert "the median of 3 runs" in done.stdout


def test_times_are_not_judged_without_enough_runs(suite, two_runs):
    done = suite("diff", "h.sqlite", two_runs[0], "--max-slowdown", 1.01, status=0)
    assert "times are not judged: a median needs 3 past runs" in done.stdout


def test_a_run_that_was_resumed_stands_once_in_the_history(suite):
    suite.write(HEAD + GOOD)
    suite("suite.toml", "--history", "h.sqlite", status=0)
    suite("suite.toml", "--resume", "--history", "h.sqlite", status=0)
    database = sqlite3.connect(suite.folder / "h.sqlite")
    assert database.execute("select count(*) from runs").fetchone() == (1,)
    assert database.execute("select count(*) from cases").fetchone() == (1,)
    database.close()


@pytest.mark.parametrize("old", ["nothing", "one.onnx", "."])
def test_what_is_no_run_is_said(suite, old):
    done = suite("diff", old, old, status=3)
    assert "polycmp: " in done.stderr


class TestHistory:
    @pytest.mark.parametrize("name", ["q?.sqlite", "a#b.sqlite", "a%20b.sqlite", "h?mode=rwc&x=.sqlite"])
    def test_names_are_paths(self, suite, name):
        suite.write(HEAD + CASE)
        suite("suite.toml", "--history", name, "--baseline", name, status=0)
        before = set(os.listdir(suite.folder))
        done = suite("suite.toml", "--history", name, "--baseline", name, status=0)
        assert "ERROR: " not in done.stdout
        assert set(os.listdir(suite.folder)) == before

    @pytest.mark.parametrize(
        "column, value", [("times", "[1"), ("times", "7"), ("max_error", "none"), ("reason", None)]
    )
    def test_a_damaged_row_is_left_out_with_a_note(self, suite, column, value):
        suite.write(HEAD + CASE + '[[case]]\nname = "two"\nmodel = "two.onnx"\n')
        suite("suite.toml", "--history", "h.sqlite", status=0)
        with sqlite3.connect(suite.folder / "h.sqlite") as database:
            if value is None:
                database.execute("update cases set reason = x'ff00' where name = 'one'")
            else:
                database.execute(f"update cases set {column} = ? where name = 'one'", [value])
        done = suite("suite.toml", "--baseline", "h.sqlite", status=0)
        assert "1 damaged row left out" in done.stdout + done.stderr
