"""What a run is compared with at its end, and which options of that have a meaning."""

from __future__ import annotations

import json

import pytest
from last_passes import ONE
from suite_texts import CHANGING, GOOD, HEAD


def test_baseline_says_what_is_new(suite, two_runs):
    done = suite("suite.toml", "--baseline", two_runs[0], "--report", "r.json", status=1)
    assert f"compared with {two_runs[0].name}: 1 new failure" in done.stdout
    changes = json.loads((suite.folder / "r.json").read_text())["changes"]
    assert changes["found"][0]["case"] == "changing"


def test_a_slowdown_needs_past_runs(suite):
    suite.write(HEAD + GOOD)
    assert "--max-slowdown needs past runs" in suite("suite.toml", "--max-slowdown", 2, status=2).stderr


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


@pytest.mark.parametrize(
    "words",
    [
        ("--baseline-read-only",),
        ("--baseline", "memory://base", "--max-slowdown", "2"),
    ],
)
def test_options_without_a_meaning_are_refused(suite, words):
    suite.write(ONE)
    suite("suite.toml", *words, status=2)
