"""Paths of one command that must not be the same, however they are spelled; nothing runs, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from toymodels import small

from polycmp.command.paths import was_written

RUN = ("run", "m.toy", "-b", "toy", "-b", "plain")


@pytest.fixture
def files(tmp_path, polycmp):
    small(tmp_path / "m.toy")
    np.savez("in.npz", x=np.ones((2, 8), np.float32))
    Path("folder").mkdir()
    np.savez("folder/000.npz", x=np.ones((2, 8), np.float32))
    os.link("in.npz", "link.npz")
    return polycmp


@pytest.mark.parametrize(
    ("words", "what", "why"),
    [
        (("--save-outputs", "m.toy"), "--save-outputs would overwrite what MODEL reads: m.toy", ""),
        (("--save-outputs", "./m.toy"), "--save-outputs would overwrite what MODEL reads", "./m.toy leads there"),
        (
            ("--load-inputs", "in.npz", "--save-inputs", "link.npz"),
            "what --load-inputs reads: in.npz",
            "link.npz leads",
        ),
        (
            ("--load-inputs", "folder/000.npz", "--save-inputs", "folder"),
            "what --load-inputs reads: folder/000.npz",
            "",
        ),
        (("--save-inputs", "x.npz", "--save-outputs", "x.npz"), "what --save-inputs writes: x.npz", ""),
        (("--save-outputs", "r.json", "--report", "r.json"), "--save-outputs would overwrite what --report writes", ""),
        (("--report", "m.toy"), "--report would overwrite what MODEL reads", ""),
        (("-b", "toy:name=other,model=o.toy", "--save-outputs", "o.toy"), "what -b other reads: o.toy", ""),
    ],
)
def test_a_file_that_is_read_or_written_twice_is_refused_before_anything_runs(files, words, what, why):
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    done = files(*RUN, *words)
    assert done.status == 2
    assert what in done.err
    assert why in done.err
    assert "give each its own path" in done.err
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


@pytest.mark.parametrize(
    "words",
    [
        ("--load-inputs", "in.npz", "--save-inputs", "other.npz", "--save-outputs", "out.npz"),
        ("--load-inputs", "folder/000.npz", "--save-outputs", "folder/out.npz"),  # a file in it is not all of it
        ("--save-inputs", "x", "--save-outputs", "y", "--report", "r.json"),
    ],
)
def test_paths_of_their_own_are_used(files, words):
    assert files(*RUN, *words).status == 0


def test_what_was_written_since_then_is_known(tmp_path):
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    assert not was_written(str(path.parent), 0.0)
    path.write_text("")
    written = path.stat().st_mtime
    assert was_written(str(path), written)
    assert was_written(str(path.parent), written)
    assert not was_written(str(path), written + 1)
    assert not was_written(str(tmp_path / "nothing"), 0.0)
