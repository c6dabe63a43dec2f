"""`polycmp bisect` over releases that pip installs from wheels in a folder, without any package index."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from releases import Place

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="backends run in processes of their own"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("releases"))
    place.release(v1_0="good", v1_1="good", v1_2="unloadable", v1_3="bad", v1_4="broken", v1_5="bad")
    return place


def test_the_first_bad_release_is_named_and_what_cannot_be_judged_is_passed_over(place):
    done, report = place.bisect("--bad", "1.5")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.3", "1.1", ["1.2"])
    assert "first bad release of toyrt 1.3, last good 1.1" in done.stdout
    assert "no such operator: Mul" in report["judged"]["1.2"]["reason"]
    before = {path: path.stat().st_mtime_ns for path in place.cache.glob("environments/*/bin/python")}
    assert len(before) >= 3
    again, report = place.bisect("--good", "1.1", "--bad", "1.5")
    assert (again.returncode, report["first_bad"], report["prepared"]) == (1, "1.3", 0), again.stderr
    assert {path: path.stat().st_mtime_ns for path in place.cache.glob("environments/*/bin/python")} == before


def test_the_release_that_mended_a_fault_is_found(place):
    place.release(v1_6="good")
    done, report = place.bisect("--bad", "1.5", "--good", "1.6")
    assert done.returncode == 1
    assert (report["first_bad"], report["last_good"]) == ("1.5", "1.6")
    assert "mended in release of toyrt 1.6, last bad 1.5" in done.stdout


def test_a_release_is_an_ordinary_way_to_name_a_backend(place):
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.5", "-b", "toy:version=1.1", "-b", "onnx")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "toy:version=1.5" in done.stdout
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.1", "-b", "onnx")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bad", "1.0"], "1.0 is good, not bad"),
        (["--good", "1.3", "--bad", "1.5"], "1.3 is bad, not good"),
        (["--bad", "9.9"], "there is no release 9.9 of toyrt"),
        (["--good", "1.1", "--bad", "1.1"], "cannot be both good and bad"),
    ],
)
def test_ends_that_cannot_be_right_are_wrong_usage(place, words, said):
    done, _ = place.bisect(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_release_that_cannot_be_had_is_the_failure_of_its_backend(place):
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert done.returncode == 3
    assert "toyrt 1.4 cannot be imported" in done.stdout + done.stderr
    assert "no kernel for this processor" in done.stdout + done.stderr
    assert not [path for path in place.cache.glob("environments/toyrt-1.4*") if path.is_dir()]


def test_an_index_that_does_not_answer_ends_the_search_and_nothing_is_lost(place):
    place.release(v1_6="good", v1_7="bad")
    moved = place.wheels.with_name("away")
    process = subprocess.Popen(
        place.words("bisect", "m.onnx", "-b", "toy", "-b", "onnx", "--over", "toyrt", "--no-locate",
                    *("--bad", "1.7", "--good", "1.6")),
        cwd=place.root, env=place.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    making = place.cache / "environments"
    _wait(lambda: any(making.glob("toyrt-1.7*/")))
    place.wheels.rename(moved)
    try:
        _, said = process.communicate(timeout=250)
    finally:
        moved.rename(place.wheels)
    assert process.returncode == 3, said
    assert "toyrt 1.7 cannot be installed" in said
    assert "go on with --resume" in said
    assert not [path for path in making.glob("toyrt-1.7*") if path.is_dir()]
    done, report = place.bisect("--bad", "1.7", "--good", "1.6", "--resume")
    assert (done.returncode, report["first_bad"]) == (1, "1.7"), done.stdout + done.stderr


def test_an_interrupted_search_goes_on_where_it_was(place, tmp_path):
    cache = {"POLYCMP_CACHE": str(tmp_path / "cache")}
    process = subprocess.Popen(
        place.words(
            *("bisect", "m.onnx", "-b", "toy", "-b", "onnx", "--over", "toyrt", "--no-locate"),
            *("--bad", "1.5", "--good", "1.0"),
        ),
        cwd=place.root, env=place.environ(**cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    kept = tmp_path / "cache" / "bisect"
    _wait(lambda: any(kept.glob("*.json")))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 130, said
    assert "--resume" in said
    assert "Traceback" not in said
    whole = [path for path in (tmp_path / "cache" / "environments").glob("*/") if (path / "complete.json").is_file()]
    assert len(whole) == len(list((tmp_path / "cache" / "environments").glob("*/")))
    done, report = place.bisect("--good", "1.0", "--bad", "1.5", "--resume", **cache)
    assert (done.returncode, report["first_bad"]) == (1, "1.3"), done.stderr
    assert not any(kept.glob("*.json"))


def test_a_runtime_that_is_right_once_and_wrong_another_time_is_refused_with_the_figures(tmp_path):
    place = Place(tmp_path / "flaky")
    place.release(v1_0="good", v1_1="flaky")
    done, _ = place.bisect("--bad", "1.1", "--good", "1.0")
    assert done.returncode in {2, 3}
    if done.returncode == 3:
        assert "1.1 is not the same twice: bad, y off by" in done.stderr
        assert "then good" in done.stderr


def test_a_model_that_no_release_loads_ends_in_one_line(tmp_path):
    place = Place(tmp_path / "none")
    place.release(v1_0="unloadable", v1_1="unloadable")
    done, _ = place.bisect()
    assert done.returncode == 3
    assert "could not be judged" in done.stderr
    assert "no such operator: Mul" in done.stderr


def _wait(there, seconds=120.0):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)
