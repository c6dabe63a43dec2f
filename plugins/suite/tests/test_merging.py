"""Parts of a suite on several machines: which cases each runs, and the one answer that is made of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from suite_texts import HEAD, NAMES


def sharded(suite, total: int, *words: str) -> list[str]:
    """Run all shards, each with results of its own, and return the folders."""
    for number in range(1, total + 1):
        suite("suite.toml", "--shard", f"{number}/{total}", "--results", f"shards/{number}", *words)
    return [f"shards/{number}" for number in range(1, total + 1)]


def about(suite, folder: str) -> tuple[Path, dict]:
    path = suite.folder / folder / "latest" / "suite.json"
    return path, json.loads(path.read_text())


def test_shards_run_every_case_once_and_merge_says_what_one_run_says(five):
    whole = five("suite.toml", status=1)
    folders = sharded(five, 3)
    ran = [about(five, folder)[1]["cases"] for folder in folders]
    assert ran == [["a", "d"], ["b", "e"], ["c"]]
    done = five("merge", *folders, "--results", "merged", "--report", "all.json", "all.xml", status=1)
    sentence = "FAILED: 5 cases: 4 passed, 1 failed"
    assert sentence in whole.stdout
    assert sentence in done.stdout
    report = json.loads((five.folder / "all.json").read_text())
    assert [item["case"] for item in report["cases"]] == NAMES
    page = five.folder / "merged" / "latest" / "index.html"
    assert all(f">{name}<" in page.read_text() for name in NAMES)
    assert len(list((five.folder / "merged" / "latest").glob("cases/*/report.json"))) == 5


def test_a_folder_that_holds_what_each_job_kept_is_enough(five):
    sharded(five, 2)
    assert "5 cases: 4 passed, 1 failed" in five("merge", "shards", status=1).stdout


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_missing_shard_is_no_pass(suite, number):
    suite.write(HEAD + "\n".join(f'[[case]]\nname = "{name}"\nmodel = "one.onnx"\n' for name in NAMES))
    folders = sharded(suite, 3)
    shutil.rmtree(suite.folder / folders[number - 1])
    left = [folder for folder in folders if (suite.folder / folder).exists()]
    done = suite("merge", *left, status=3)
    assert f"shard {number} of 3 missing; 5 cases: " in done.stdout
    assert f"{1 if number == 3 else 2} not run" in done.stdout


def test_a_shard_that_was_interrupted_is_no_pass(five):
    folders = sharded(five, 2)
    path, facts = about(five, folders[0])
    path.write_text(json.dumps({**facts, "finished": False}))
    shutil.rmtree(next(path.parent.glob("cases/a-*")))
    assert "shard 1/2 has not ended; 5 cases: 3 passed, 1 failed, 1 not run" in five("merge", *folders, status=3).stdout


def test_shards_on_machines_of_different_kinds_are_no_pass(five):
    folders = sharded(five, 2)
    path, facts = about(five, folders[1])
    path.write_text(json.dumps({**facts, "device": "aarch64 with Orin"}))
    done = five("merge", *folders, status=3)
    assert f"shard 1/2 ran on {facts['device']}, shard 2/2 on aarch64 with Orin" in " ".join(done.stdout.split())


def test_shards_with_different_releases_of_a_backend_are_no_pass(five):
    folders = sharded(five, 2)
    for path in (five.folder / folders[1]).glob("latest/cases/*/result.json"):
        result = json.loads(path.read_text())
        path.write_text(json.dumps({**result, "versions": {**result["versions"], "onnx": "0.1"}}))
    assert "onnx is 0.1 in shard 2/2" not in five("merge", folders[0], status=3).stdout
    assert "and 0.1 in shard 2/2" in " ".join(five("merge", *folders, status=3).stdout.split())


def test_what_is_no_shard_of_one_run_is_refused(five):
    folders = sharded(five, 2)
    five("suite.toml", "--results", "whole", status=1)
    five("suite.toml", "-k", "a or b", "--shard", "2/2", "--results", "fewer", status=1)
    assert "is there twice" in five("merge", folders[0], folders[0], status=2).stderr
    assert "it was run without --shard" in five("merge", folders[0], "whole", status=2).stderr
    assert "2 cases and 5 cases" in " ".join(five("merge", folders[0], "fewer", status=2).stderr.split())
    (five.folder / "empty").mkdir()
    assert "no run of a suite in empty" in five("merge", folders[0], "empty", status=3).stderr


def test_more_shards_than_cases_are_no_failure(suite):
    suite.write(HEAD + '[[case]]\nname = "a"\nmodel = "one.onnx"\n')
    folders = sharded(suite, 2)
    assert "no case for shard 2/2: 1 were chosen" in suite("suite.toml", "--shard", "2/2", status=0).stderr
    assert "1 case: 1 passed" in suite("merge", *folders, status=0).stdout
