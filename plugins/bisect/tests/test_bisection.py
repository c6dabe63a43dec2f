"""`polycmp bisect` over releases that pip installs from wheels in a folder, without any package index."""

from __future__ import annotations

import json

import pytest
from in_process import run_cases_here


def test_the_first_bad_release_is_named_and_what_cannot_be_judged_is_passed_over(place):
    done, report = place.over_toyrt("--bad", "1.5")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.4", "1.1", ["1.2", "1.3"])
    assert "first bad release of toyrt 1.4, last good 1.1 (1.2, 1.3 between them could not be judged)" in done.stdout
    assert "no such operator: Mul" in report["judged"]["1.2"]["reason"]
    assert "cannot be imported: ImportError: no kernel for this processor" in report["judged"]["1.3"]["reason"]
    assert "1.0" not in report["judged"]


@pytest.mark.corpus  # test_judging has the rule
def test_a_named_release_that_cannot_run_the_model_is_the_fault_to_look_for(place):
    done, report = place.over_toyrt("--bad", "1.7", "--releases", "1.1", "1.2", "1.7")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.7", "1.1", ["1.2"])
    assert "no kernel for Mul of float32: not implemented" in done.stdout
    assert report["judged"]["1.2"]["state"] == "skip"  # says something else: no such operator


@pytest.mark.corpus  # tests of native crashes and of safety have such a folder, too
@pytest.mark.parametrize("explained", [(), ("--explain", "page")])
def test_modules_in_the_current_folder_are_not_run(place, monkeypatch, tmp_path_factory, explained):
    """A model of a stranger may lie beside files that are called as the tools, or as what they import, are."""
    for name in ("pip", "venv", "polycmp", "toyrt", "numpy", "csv", "email", "json", "runpy"):
        (place.root / f"{name}.py").write_text(
            f"import os\nopen({str(place.root / 'ran')!r}, 'a').write('{name} ')\nos._exit(0)\n"
        )
    (place.root / "uv.toml").write_text("this is no configuration of uv\n")
    monkeypatch.setenv("POLYCMP_CACHE", str(tmp_path_factory.mktemp("cache")))
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert done.returncode == 1, done.stdout + done.stderr
    words = ("--over", "toyrt", "--releases", "1.1", "1.4", *explained)
    done = place.polycmp("bisect", "m.onnx", "-b", "toy", "-b", "onnx", "--bad", "1.4", *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert (place.root / "page/issue.md").is_file() == bool(explained)
    assert not (place.root / "ran").exists(), (place.root / "ran").read_text()


def test_files_that_are_not_there_are_missed_before_anything_is_installed(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    for words in (["--load-inputs", "n.npz"], ["--load-outputs", "n.npz"], ["--data-loader-script", "n.py:load"]):
        done, _ = place.over_toyrt("--bad", "1.4", *words)
        assert (done.returncode, "no such file or folder" in done.stderr) == (3, True), done.stderr
    assert place.made() == set()


def test_one_backend_alone_is_judged_by_whether_it_runs(place):
    words = ("m.onnx", "-b", "toy", "--over", "toyrt")
    done, _ = place.bisect(*words)
    assert (done.returncode, "there is nothing to compare with" in done.stderr) == (2, True), done.stderr
    done, _ = place.bisect(*words, "--bad", "1.4")
    assert done.returncode == 3
    assert "it runs the model, and there is nothing to compare it with" in done.stderr
    done, report = place.bisect(*words, "--bad", "1.7", "--releases", "1.1", "1.4", "1.7")
    assert (done.returncode, report["first_bad"], report["last_good"]) == (1, "1.7", "1.4"), done.stderr


def test_where_all_that_are_older_are_wrong_a_newer_one_may_have_mended_it(place):
    done, report = place.over_toyrt("--bad", "1.5", "--releases", "1.4", "1.5", "1.6")
    assert (done.returncode, report["first_bad"], report["last_good"]) == (1, "1.4", None), done.stderr
    assert "FAILED: 1.4, the oldest release of toyrt that could be judged, is bad, too; --good 1.6" in done.stdout


def test_a_runtime_that_is_right_once_and_wrong_another_time_is_refused_with_the_figures(place):
    done, _ = place.over_toyrt("--bad", "2.0", "--good", "1.1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "2.0 is not the same twice: bad, y off by" in done.stderr
    assert "then good, y off by 0 of its range" in done.stderr


def test_where_no_release_can_be_judged_the_reason_is_told(place):
    done, _ = place.over_toyconv("--releases", "1.1", "1.3")
    assert done.returncode == 3
    assert "none of the 2 releases of toyconv that were tried could be judged" in done.stderr
    assert "1.3: the command of toyconv 1.3 ended with status 1: toyconv: cannot read Mul" in done.stderr


def test_a_suite_tells_since_which_release_a_model_differs(place, monkeypatch):
    pytest.importorskip("polycmp_suite")
    run_cases_here(monkeypatch)
    (place.root / "suite.toml").write_text(
        '[[case]]\nmodel = "m.onnx"\nbackends = ["toy", "onnx"]\nreleases = ["1.1", "1.2", "1.4"]\ntimeout = 60\n'
    )
    done = place.polycmp("suite", "suite.toml", "--report", "r.json")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "environment of toy:version=1.4" in done.stderr
    [row] = json.loads((place.root / "r.json").read_text())["releases"]
    assert row["since"] == "not compared since 1.2, right with 1.1; differs since 1.4, not compared with 1.2"
    assert {name: item["verdict"] for name, item in row["releases"].items()} == {
        "1.1": "passed", "1.2": "error", "1.4": "failed",
    }  # fmt: skip
    assert "differs since 1.4, not compared with 1.2" in (place.root / "suite-results/latest/index.html").read_text()
    assert "m: not compared since 1.2, right with 1.1; differs since 1.4" in " ".join(done.stdout.split())
