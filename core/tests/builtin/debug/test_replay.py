"""Going on after an earlier search, with its steps from a file."""

from __future__ import annotations

import json
from pathlib import Path

from counting_check import COUNTING


def test_goes_on_after_an_earlier_search(polycmp):
    Path("count.sh").write_text(COUNTING)
    check = ("--check", "sh", "count.sh", "0", "1")
    polycmp("debug", "repeat", "--until", "3", "--save-debug-replay", "steps.json", *check)
    done = polycmp("debug", "repeat", "--until", "5", "--load-debug-replay", "steps.json", *check)
    assert done.status == 0
    assert Path("count").read_text() == "5\n"


def test_goes_on_in_the_file_of_an_earlier_search(polycmp):
    Path("count.sh").write_text(COUNTING)
    check = ("--check", "sh", "count.sh", "0", "1")
    polycmp("debug", "repeat", "--until", "3", "--save-debug-replay", "steps.json", *check)
    both = ("--load-debug-replay", "steps.json", "--save-debug-replay", "steps.json")
    assert polycmp("debug", "repeat", "--until", "1", *both, *check).status == 0
    assert len(json.loads(Path("steps.json").read_text())) == 3  # nothing is lost, although one step was asked for
    assert polycmp("debug", "repeat", "--until", "5", *both, *check).status == 0
    assert Path("count").read_text() == "5\n"
    assert len(json.loads(Path("steps.json").read_text())) == 5
