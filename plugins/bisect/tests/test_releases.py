"""Releases of a backend's runtime: which are tried, which is the bad one to begin with, and which tell nothing."""

from __future__ import annotations

from importlib import metadata

import pytest
from releases import write_wheel


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bad", "1.1"], "1.1 is good, not bad"),
        pytest.param(["--good", "1.4", "--bad", "1.5"], "1.4 is bad, not good", marks=pytest.mark.corpus),
        (["--bad", "9.9"], "there is no release 9.9 of toyrt"),
        (["--with", "absent-package"], "'absent-package' names no release"),
        (["--with", "onnx=="], "'onnx==' names no release"),
        (["--good", "1.1", "--bad", "1.1"], "cannot be both good and bad"),
    ],
)
def test_ends_that_cannot_be_right_are_wrong_usage(place, words, said):
    done, _ = place.over_toyrt(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_release_of_the_candidate_is_the_bad_one_to_begin_with(place):
    words = ("m.onnx", "-b", "toy:version=1.5", "-b", "onnx", "--over", "toyrt", "--releases")
    done, report = place.bisect(*words, "1.1", "1.4", "1.5", "1.6")
    assert (done.returncode, report["first_bad"], report["last_good"]) == (1, "1.4", "1.1"), done.stdout + done.stderr
    assert "toy:version=1.5" not in done.stdout
    done, _ = place.bisect(*words, "1.1", "1.5", "--bad", "1.5", "--good", "1.1")  # says the same twice
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("version", "words", "said"),
    [
        ("1.5", ("--bad", "1.4"), "version=1.5 and --bad 1.4"),
        ("1.1", (), "1.1 is good, not bad"),
        ("[1.5,onnx==1.16.0]", (), "--with onnx==1.16.0"),
        ("[1.5,python==3.10]", (), "python==3.10"),
        ("9.9", (), "there is no release 9.9 of toyrt"),
    ],
)
def test_a_release_of_the_candidate_is_never_dropped(place, version, words, said):
    done, _ = place.bisect("m.onnx", "-b", f"toy:version={version}", "-b", "onnx", "--over", "toyrt", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stdout + done.stderr


@pytest.mark.corpus
def test_a_release_that_is_compared_with_itself_tells_nothing(place):
    done, report = place.bisect("m.onnx", "-b", "toy", "-b", "toy:version=1.4", "--over", "toyrt", "--bad", "1.4")
    assert (done.returncode, report["verdict"]) == (3, "blind"), done.stdout + done.stderr
    assert "toyrt 1.4 would be compared with itself" in done.stdout
    # Other options are another backend, and a release beside it is, too.
    done, report = place.bisect(
        "m.onnx", "-b", "toy", "-b", "toy:version=1.1", "--over", "toyrt", "--bad", "1.4", "--releases", "1.1", "1.4"
    )
    assert (done.returncode, report["first_bad"]) == (1, "1.4"), done.stdout + done.stderr


def test_the_release_installed_here_is_not_right_because_it_agrees_with_itself(place, monkeypatch):
    index, here = place.root / "index", metadata.version("onnxruntime")
    index.mkdir()
    write_wheel(index, "onnxruntime", here, "")  # is only listed
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    for words in (("--over", "onnxruntime"), ("--over", "python"), ()):
        done, report = place.bisect("m.onnx", "-b", "onnxrt", "-b", "onnxrt", *words)
        assert (done.returncode, report.get("verdict")) == (3, "blind"), done.stdout + done.stderr
        assert "would be compared with itself" in done.stdout
