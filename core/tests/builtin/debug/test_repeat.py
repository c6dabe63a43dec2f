"""`polycmp debug repeat`: until when, what counts, what is kept of each step, and going on after an earlier search."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from toymodels import small

#: Passes in the steps whose numbers it is given.
COUNTING = """\
count=$(cat count 2>/dev/null || echo 0)
echo $((count + 1)) > count
printf "$count" > left.txt
for step in "$@"; do [ "$step" = "$count" ] && exit 0; done
exit 5
"""


@pytest.mark.parametrize("until", ["", "never", "0", "-1", "100001", "½"])
def test_until(polycmp, until):
    done = polycmp("debug", "repeat", f"--until={until}", "--check", "true")
    assert (done.status, "--until" in done.err) == (2, True), done.err


def test_the_number_of_the_step_is_removed_at_the_end(polycmp):
    words = ("--until", "3", "--iteration-info", "step.json", "--show-output")
    done = polycmp("debug", "repeat", *words, "--check", "cat", "step.json")
    assert done.status == 0
    assert '"iteration": 2' in done.err
    assert not Path("step.json").exists()


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


def test_artifacts_are_sorted_and_never_overwritten(polycmp):
    Path("count.sh").write_text(COUNTING)
    words = (
        "--until",
        "3",
        "--artifacts",
        "left.txt",
        "gone.txt",
        "--art-dir",
        "sorted",
        "--check",
        "sh",
        "count.sh",
        "1",
    )
    for _ in range(2):
        assert polycmp("debug", "repeat", *words).status in {0, 1}
    good, bad = list(Path("sorted/good").iterdir()), list(Path("sorted/bad").iterdir())
    assert [path.read_text() for path in good] == ["1"]
    assert sorted(path.read_text() for path in bad) == ["0", "2", "3", "4", "5"]
    assert good[0].name.endswith("_N1.txt")


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


def test_a_polycmp_check_in_one_process(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    check = ("--check", "polycmp", "run", "m.toy", "-b", "toy", "-b", "plain")
    words = ("--until", "3", "--report", "found.json", *check)
    done = polycmp("debug", "repeat", *words)
    assert done.status == 0, done.out + done.err
    assert [step["status"] for step in done.report("found.json")["steps"]] == [0, 0, 0]


def test_a_polycmp_check_that_crashes_is_a_failed_step_and_the_next_one_runs(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    Path("dies.py").write_text("import os, signal\n\n\ndef load_data():\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    crash = ("polycmp", "run", "m.toy", "-b", "toy", "--data-loader-script", "dies.py")
    done = polycmp("debug", "repeat", "--until", "2", "--report", "found.json", "--check", *crash)
    statuses = [step["status"] for step in done.report("found.json")["steps"]]
    assert (done.status, len(statuses)) == (0, 2), done.out + done.err
    assert "Finished 2 iteration(s) | Passed: 0/2 | Pass Rate: 0.0%" in done.out
    assert all(status == -9 for status in statuses), statuses
