"""Judgements that are kept: a search that was interrupted goes on with them."""

from __future__ import annotations

import os
import shutil
import signal

from releases import until


def test_ctrl_c_leaves_no_half_made_environment_and_the_search_goes_on(place):
    (place.root / "held").touch()
    words = ("--good", "0.9", "--bad", "1.4", "--releases", "0.9", "1.4")
    process = place.start("bisect", "m.onnx", "-b", "toy", "-b", "onnx", "--over", "toyrt", "--no-locate", *words)
    until((place.root / "held-here").exists, process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "what was judged is kept (1); go on with: polycmp bisect m.onnx" in said
    assert "--resume" in said
    assert "toyrt-0.9" not in place.made()
    kept = max(place.environments.parent.glob("bisect/*.json"), key=lambda path: path.stat().st_mtime_ns)
    (place.root / "held").unlink()
    done, report = place.over_toyrt(*words, "--resume")
    assert (done.returncode, report["first_bad"], report["prepared"]) == (1, "1.4", 1), done.stderr
    assert not kept.exists()


def test_an_index_that_is_gone_in_the_middle_ends_the_search_and_nothing_is_lost(place, monkeypatch):
    index = place.root / "index"
    shutil.copytree(place.shelf.wheels, index)
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    words = ("--good", "2.0.1", "--bad", "2.1")
    done, _ = place.over_toyconv(*words)
    assert not index.exists()
    assert done.returncode == 3, done.stdout + done.stderr
    assert "toyconv 2.0.1 cannot be installed: no package index that pip knows answers for toyconv" in done.stderr
    assert "what was judged is kept (1): go on with --resume" in done.stderr
    assert "toyconv-2.0.1" not in place.made()
    monkeypatch.setenv("PIP_FIND_LINKS", str(place.shelf.wheels))
    done, report = place.over_toyconv(*words, "--resume")
    assert (done.returncode, report["first_bad"], report["prepared"]) == (1, "2.1", 1), done.stdout + done.stderr
