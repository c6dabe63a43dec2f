"""One step of a search: what is written for it, and the files that are sorted after it."""

from __future__ import annotations

from pathlib import Path

from counting_check import COUNTING


def test_the_number_of_the_step_is_removed_at_the_end(polycmp):
    words = ("--until", "3", "--iteration-info", "step.json", "--show-output")
    done = polycmp("debug", "repeat", *words, "--check", "cat", "step.json")
    assert done.status == 0
    assert '"iteration": 2' in done.err
    assert not Path("step.json").exists()


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
