"""What changed between runs: verdicts, errors, and times that are no noise."""

from __future__ import annotations

import json
import math
import sqlite3

import pytest

from polycmp_suite.changes import PastResult, compare, slower

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n'
GOOD = '[[case]]\nname = "good"\nmodel = "one.onnx"\n'
CHANGING = '[[case]]\nname = "changing"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\natol = %s\n'


@pytest.fixture
def two_runs(suite):
    """A green run, and one in which a case fails."""
    suite.write(HEAD + GOOD + CHANGING % "100.0\nallow-blind = true")
    suite("suite.toml", "--history", "h.sqlite", status=0)
    first = suite.latest.resolve()
    suite.write(HEAD + GOOD + CHANGING % "1e-5")
    suite("suite.toml", "--history", "h.sqlite", status=1)
    return first, suite.latest.resolve()


def test_diff_names_new_failures(suite, two_runs):
    first, second = two_runs
    done = suite("diff", first, second, "--report", "d.json", status=1)
    assert "FAILED: 1 change, 1 for the worse" in done.stdout
    found = json.loads((suite.folder / "d.json").read_text())["found"]
    assert [(item["kind"], item["case"]) for item in found] == [("new failure", "changing")]


def test_diff_names_what_was_fixed_and_is_0(suite, two_runs):
    first, second = two_runs
    done = suite("diff", second, first, status=0)
    assert "fixed" in done.stdout
    assert "PASSED: " in done.stdout
    assert suite("diff", first, first, status=0).stdout.count("nothing changed") == 1


def test_a_folder_and_a_file_of_runs_are_the_same_baseline(suite, two_runs):
    first, second = two_runs
    for old in ("suite-results", "h.sqlite"):
        done = suite("diff", old, second, "--report", "d.json", status=1)
        assert json.loads((suite.folder / "d.json").read_text())["since"] == first.name, done.stdout


def test_baseline_says_what_is_new(suite, two_runs):
    done = suite("suite.toml", "--baseline", two_runs[0], "--report", "r.json", status=1)
    assert f"compared with {two_runs[0].name}: 1 new failure" in done.stdout
    changes = json.loads((suite.folder / "r.json").read_text())["changes"]
    assert changes["found"][0]["case"] == "changing"


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


def test_a_slowdown_needs_past_runs(suite):
    suite.write(HEAD + GOOD)
    assert "--max-slowdown needs past runs" in suite("suite.toml", "--max-slowdown", 2, status=2).stderr


def test_noise_is_no_slowdown():
    assert slower(1.3, [1.0, 1.0, 1.0], 1.2) is not None
    assert slower(1.1, [1.0, 1.0, 1.0], 1.2) is None
    assert slower(1.3, [0.8, 1.0, 1.2], 1.2) is None, "such times come by themselves"
    assert slower(3.0, [0.8, 1.0, 1.2], 1.2) is not None


@pytest.mark.parametrize(
    ("before", "now", "kinds"),
    [
        (1e-6, 1e-3, ["error grew"]),
        (1e-6, 1.5e-6, []),
        (0.0, 1e-9, ["error grew"]),
        (1e-6, math.inf, ["error grew"]),
        (1e-6, math.nan, ["error grew"]),
        (math.inf, 1.0, []),
        (None, 1.0, []),
    ],
)
def test_errors_that_grew(before, now, kinds):
    then = {"a": PastResult("a", "passed", max_error=before)}
    changes = compare("before", then, {}, [PastResult("a", "passed", max_error=now)])
    assert [change.kind for change in changes.changes] == kinds


def test_cases_that_came_and_went():
    changes = compare("before", {"old": PastResult("old", "passed")}, {}, [PastResult("new", "failed")])
    assert [(change.kind, change.case, change.worse) for change in changes.changes] == [
        ("new case", "new", True),
        ("gone", "old", False),
    ]


def test_old_runs_are_removed_and_nothing_else(suite):
    suite.write(HEAD + GOOD)
    for _ in range(2):
        suite("suite.toml", status=0)
    folder = suite.folder / "suite-results"
    (folder / "1-notes").mkdir()
    newest = suite.latest.resolve()
    suite("suite.toml", "--keep", 2, status=0)
    runs = {path.name for path in folder.iterdir()} - {"latest", "1-notes"}
    assert runs == {newest.name, suite.latest.resolve().name}
    assert (folder / "1-notes").is_dir()
    assert "--keep" in suite("suite.toml", "--keep", 0, status=2).stderr


def test_a_history_may_be_its_own_baseline_from_the_first_run_on(suite):
    suite.write(HEAD + GOOD + CHANGING % "100.0\nallow-blind = true")
    words = ("suite.toml", "--history", "h.sqlite", "--baseline", "h.sqlite", "--max-slowdown", "1000")
    assert "the first run of h.sqlite: nothing to compare with" in suite(*words, status=0).stdout
    first = suite.latest.resolve()
    suite.write(HEAD + GOOD + CHANGING % "1e-5")
    assert f"compared with {first.name}: 1 new failure" in suite(*words, status=1).stdout
    suite("suite.toml", "--baseline", "h.sqlite", status=1)
    missing = suite("suite.toml", "--baseline", "missing.sqlite", status=3)
    assert "there are no past runs in missing.sqlite" in missing.stderr
