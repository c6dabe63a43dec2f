"""What an index said of a package is asked once."""

from __future__ import annotations

import os
import shutil


def test_which_release_a_series_is_need_not_be_asked_again_and_again(place, monkeypatch):
    index = place.root / "index"
    shutil.copytree(place.shelf.wheels, index)
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    words = ("run", "m.onnx", "-b", "toy:version=0.8", "-b", "onnx")
    answers = place.environments.parent / "index"
    before = set(answers.glob("*"))
    assert place.polycmp(*words).returncode == 0
    assert "toyrt-0.8.1" in place.made()
    [answer] = set(answers.glob("*")) - before
    index.rename(place.root / "away")
    assert place.polycmp(*words).returncode == 0
    os.utime(answer, (0, 0))  # no longer holds, but there is no other
    assert place.polycmp(*words).returncode == 0
    answer.unlink()
    done = place.polycmp(*words)
    assert done.returncode == 3
    assert "no package index that pip knows has toyrt" in done.stdout + done.stderr
