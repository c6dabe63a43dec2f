"""`suite diff`: what failed since, what was fixed."""

from __future__ import annotations

import json


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
