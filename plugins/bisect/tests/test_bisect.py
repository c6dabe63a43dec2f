"""`polycmp bisect` over releases that pip installs from wheels in a folder, without any package index."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata

import pytest
from in_process import run_cases_here
from releases import RUNTIMES, until, write_wheel

from polycmp_bisect.environments.cache import Cache
from polycmp_bisect.environments.tools import Done, find_uv

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="backends run in processes of their own")


def test_the_first_bad_release_is_named_and_what_cannot_be_judged_is_passed_over(place):
    done, report = place.over_toyrt("--bad", "1.5")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.4", "1.1", ["1.2", "1.3"])
    assert "first bad release of toyrt 1.4, last good 1.1 (1.2, 1.3 between them could not be judged)" in done.stdout
    assert "no such operator: Mul" in report["judged"]["1.2"]["reason"]
    assert "cannot be imported: ImportError: no kernel for this processor" in report["judged"]["1.3"]["reason"]
    assert "1.0" not in report["judged"]


def test_the_release_that_mended_a_fault_is_found(place):
    done, report = place.over_toyconv("--bad", "1.2", "--good", "2.0")
    assert done.returncode == 1
    assert (report["first_bad"], report["last_good"]) == ("1.2", "2.0")
    assert "mended in release of toyconv 2.0, last bad 1.2 (1.3 between them could not be judged)" in done.stdout


@pytest.mark.corpus  # test_judging has the rule
def test_a_named_release_that_cannot_run_the_model_is_the_fault_to_look_for(place):
    done, report = place.over_toyrt("--bad", "1.7", "--releases", "1.1", "1.2", "1.7")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.7", "1.1", ["1.2"])
    assert "no kernel for Mul of float32: not implemented" in done.stdout
    assert report["judged"]["1.2"]["state"] == "skip"  # says something else: no such operator


def test_a_release_is_an_ordinary_way_to_name_a_backend_and_its_environment_is_made_once(place):
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "toy:version=1.1", "-b", "onnx")
    done = place.polycmp(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "toy:version=1.4" in done.stdout
    before = {path: path.stat().st_mtime_ns for path in place.environments.glob("*/bin/python")}
    assert len(before) >= 2
    assert place.polycmp(*words[:4], "-b", "onnx").returncode == 1
    assert {path: path.stat().st_mtime_ns for path in place.environments.glob("*/bin/python")} == before


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


def test_a_release_that_cannot_be_had_is_the_failure_of_its_backend(place):
    done = place.polycmp("run", "m.onnx", "-b", "toy:version=1.3", "-b", "onnx")
    assert done.returncode == 3
    assert "toyrt 1.3 cannot be imported" in done.stdout + done.stderr
    assert "no kernel for this processor" in done.stdout + done.stderr
    assert "toyrt-1.3" not in place.made()


def test_the_command_of_a_converter_is_run_with_each_release(place):
    done, report = place.over_toyconv("--bad", "1.2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.2", "1.0", ["1.1"])
    assert report["judged"]["1.1"]["reason"] == (
        "the command of toyconv 1.1 ended with status 1: toyconv: cannot read Mul"
    )
    assert not (place.root / "out.onnx").exists()


@pytest.mark.parametrize("explained", [(), pytest.param(("--explain", "page"), marks=pytest.mark.corpus)])
def test_what_is_to_be_typed_next_makes_the_file_of_the_first_bad_release_anew(place, explained):
    step = ("toyconv", "m.onnx", "out.onnx")
    words = ("out.onnx", "-b", "onnxrt", "-b", "onnxrt:model=m.onnx", "--over", "toyconv", "--bad", "1.2")
    done = place.polycmp("bisect", *words, *explained, "--", *step)
    assert done.returncode == 1, done.stdout + done.stderr
    made, located = (line.partition("next: ")[2] for line in done.stdout.splitlines() if "next: " in line)
    assert located == "polycmp locate out.onnx -b onnxrt -b onnxrt:model=m.onnx"
    subprocess.run(made, shell=True, check=True, cwd=place.root)  # as a user pastes it
    assert place.polycmp(*located.split()[1:]).returncode == 1
    if not explained:
        return
    page = (place.root / "page/issue.md").read_text()
    assert page.startswith("# toyconv 1.2 gives wrong results; toyconv 1.0 is right")
    assert "pip install toyconv==1.2\ntoyconv m.onnx out.onnx\npolycmp run out.onnx" in page
    assert "- toyconv 1.2: toyconv==1.2" in page


def test_a_command_that_does_not_write_the_model_is_wrong_usage(place):
    words = ("bisect", "out.onnx", "-b", "onnxrt", "-b", "onnx", "--over", "toyconv", "--", "toyconv", "m.onnx", "o")
    done = place.polycmp(*words)
    assert (done.returncode, "no word of the command is out.onnx" in done.stderr) == (2, True), done.stderr


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


@contextmanager
def index_of(folder):
    """A package index on this machine with the wheels of a folder; yields its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_words):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_where_one_of_several_indexes_is_gone_its_releases_are_not_held_for_impossible(place, monkeypatch):
    index, links = place.root / "index/toyconv", place.root / "links"
    index.mkdir(parents=True)
    links.mkdir()
    for wheel in place.shelf.wheels.glob("toyconv-*.whl"):
        shutil.copy(wheel, links if "-1.0-" in wheel.name else index)
    for name, value in {"NO_INDEX": "", "RETRIES": "1", "FIND_LINKS": str(links)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    with index_of(index.parent) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        done, _ = place.over_toyconv("--bad", "2.0")
        assert "2.0 is good, not bad" in done.stderr
    done, _ = place.over_toyconv("--good", "1.0", "--bad", "1.2")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "toyconv 1.2 cannot be installed: a package index does not answer" in done.stderr
    assert "go on with --resume" in done.stderr
    assert place.made() == {"toyconv-2.0"}


@pytest.mark.parametrize(
    "said",
    [
        "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection "
        "broken by 'ProxyError('Cannot connect to proxy.')': /simple/toyrt/",
        "error: Request failed after 3 retries in 4.3s\n  cause: Failed to fetch: https://index/simple/rich/\n"
        "  cause: error sending request for url (https://index/simple/rich/)",
    ],
)
def test_what_pip_and_uv_say_of_an_index_that_does_not_answer_is_understood(said):
    assert Done(1, said).lacks_answers
    assert not Done(1, "ERROR: No matching distribution found for toyrt==9.9").lacks_answers


def test_files_that_are_not_there_are_missed_before_anything_is_installed(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    for words in (["--load-inputs", "n.npz"], ["--load-outputs", "n.npz"], ["--data-loader-script", "n.py:load"]):
        done, _ = place.over_toyrt("--bad", "1.4", *words)
        assert (done.returncode, "no such file or folder" in done.stderr) == (3, True), done.stderr
    assert place.made() == set()


def test_the_latest_release_is_a_final_one(place):
    place.polycmp("run", "m.onnx", "-b", "toy:version=latest", "-b", "onnx")
    assert "toyrt-2.0" in place.made()


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


def test_an_index_that_never_answers_is_told_in_one_line(place, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(place.root / "nowhere"))
    done, _ = place.over_toyrt()
    assert done.returncode == 3
    assert "no package index that pip knows has toyrt, or none answers" in done.stderr


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
    (place.root / "held").unlink()
    done, report = place.over_toyrt(*words, "--resume")
    assert (done.returncode, report["first_bad"], report["prepared"]) == (1, "1.4", 1), done.stderr
    assert not list(place.environments.parent.glob("bisect/*.json"))


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


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.corpus)])
def test_what_is_half_made_is_made_anew(place, monkeypatch, installer):
    if installer == "pip":
        monkeypatch.setattr("polycmp_bisect.environments.making.find_uv", str)  # as where uv is not installed
    elif not find_uv():
        pytest.skip("uv is not installed: pip makes the environments of all tests")
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("--good", "1.0", "--bad", "1.2")
    assert place.over_toyconv(*words)[0].returncode == 1
    [folder] = (path for path in place.environments.glob("toyconv-1.2-*") if path.is_dir())
    (folder / "complete.json").unlink()  # as after a power cut
    (folder / "bin" / "toyconv").unlink()
    listed = place.polycmp("cache", "list")
    assert f"{folder.name}  not made to the end: removed when it is needed" in listed.stdout
    done, report = place.over_toyconv(*words)
    assert (done.returncode, report["first_bad"], report["prepared"]) == (1, "1.2", 1), done.stderr
    assert "not made to the end" not in place.polycmp("cache", "list").stdout


def test_a_search_ends_although_the_cache_is_full_and_keeps_its_limit_afterwards(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    assert place.polycmp("cache", "limit", "1").returncode == 0
    done, report = place.over_toyconv("--good", "1.0", "--bad", "1.2")
    assert (done.returncode, report["first_bad"]) == (1, "1.2"), done.stderr
    assert report["prepared"] == 3  # in use to the end, and then there is no room for them
    assert place.made() == set()


def test_a_cache_that_cannot_be_written_ends_the_search_with_what_to_do(place, monkeypatch):
    (place.root / "file").write_text("")
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "file"))
    done, _ = place.over_toyconv("--bad", "1.2")
    assert done.returncode == 3
    assert "toyconv 1.2 cannot be kept in" in done.stderr
    assert "POLYCMP_CACHE=DIR" in done.stderr


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


def test_a_release_of_the_candidate_is_the_bad_one_to_begin_with(place):
    words = (
        "m.onnx",
        "-b",
        "toy:version=1.5",
        "-b",
        "onnx",
        "--over",
        "toyrt",
        "--releases",
        "1.1",
        "1.4",
        "1.5",
        "1.6",
    )
    done, report = place.bisect(*words)
    assert (done.returncode, report["first_bad"], report["last_good"]) == (1, "1.4", "1.1"), done.stdout + done.stderr
    assert "toy:version=1.5" not in done.stdout
    done, _ = place.bisect(*words, "--bad", "1.5", "--good", "1.1")  # says the same twice
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


class TestFindLinks:
    @pytest.fixture
    def wheels(self, place, monkeypatch):
        """A folder of nightly wheels; their releases are in no index."""
        folder = place.root / "nightly"
        folder.mkdir()

        def build(first_bad: float) -> str:
            for version in ("3.0", "3.1", "3.2"):
                kind = "bad" if float(version) >= first_bad else "good"
                write_wheel(folder, "toyrt", version, f"__version__ = {version!r}\n{RUNTIMES[kind]}")
            return str(folder)

        return build

    WORDS = ("--releases", "3.0", "3.1", "3.2", "--bad", "3.2", "--good", "3.0")

    @pytest.mark.corpus
    @pytest.mark.parametrize("tool", ["uv", "pip"])
    def test_wheels_that_were_built_anew_are_judged_anew(self, place, wheels, monkeypatch, tool):
        if tool == "pip":
            monkeypatch.setattr("polycmp_bisect.environments.making.find_uv", lambda: "")
        elif not find_uv():
            pytest.skip("uv is not installed: pip makes the environments of all tests")
        for first_bad in (3.2, 3.1):
            folder = wheels(first_bad)
            done, report = place.over_toyrt("--find-links", folder, *self.WORDS)
            assert (done.returncode, report["first_bad"]) == (1, str(first_bad)), done.stdout + done.stderr
        again, _ = place.over_toyrt("--find-links", folder, *self.WORDS)
        assert "environment" not in again.stdout  # none had to be made: they are what they were

    @pytest.mark.corpus  # another test types the next command, of an index
    def test_what_is_to_be_typed_next_runs_those_wheels_and_nobody_who_does_not_name_them(self, place, wheels):
        words = ("--over", "toyrt", "--find-links", wheels(3.2), *self.WORDS)
        done = place.polycmp("bisect", "m.onnx", "-b", "toy", "-b", "onnx", *words)
        assert done.returncode == 1, done.stdout + done.stderr
        (line,) = (line.partition("next: polycmp ")[2] for line in done.stdout.splitlines() if "next: " in line)
        assert place.polycmp("run", *shlex.split(line)[1:]).returncode == 1
        assert "toyrt-3.2" in place.made()
        done = place.polycmp("run", "m.onnx", "-b", "toy:version=3.2", "-b", "onnx")
        assert done.returncode == 3
        assert "there is no release 3.2 of toyrt" in done.stdout + done.stderr


def ran(place, *words):
    """Run a command as a process, whose hold on environments ends with it."""
    process = place.start(*words)
    out, err = process.communicate()
    return Done(process.returncode, out + err)


@pytest.mark.corpus  # a view that is damaged, and one that is half made, are made anew in the same way
@pytest.mark.parametrize("lost", ["lib/python*/site-packages/toyrt/__init__.py", "bin/python", "complete.json"])
def test_a_damaged_environment_is_made_anew(place, monkeypatch, lost):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert ran(place, *words).status == 1
    for path in place.environments.glob(f"toyrt-1.4-*/{lost}"):
        path.unlink()
    done = ran(place, *words)
    assert (done.status, "installing toyrt 1.4" in done.text) == (1, True), done.text
    done = ran(place, *words)
    assert (done.status, "installing toyrt 1.4" in done.text) == (1, False), done.text


@pytest.mark.corpus
def test_a_damaged_environment_that_is_in_use_is_not_waited_for(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert ran(place, *words).status == 1
    (base,) = (path for path in place.environments.glob("toyrt-1.4-*") if path.is_dir())
    (base / "bin" / "python").unlink()
    with Cache().use(base.name):
        done = ran(place, *words)
    assert done.status == 3
    assert f"polycmp cache remove {base.name}" in done.text


@pytest.mark.corpus  # as what is half made
def test_a_damaged_view_is_made_anew(place, monkeypatch):
    monkeypatch.setenv("POLYCMP_CACHE", str(place.root / "cache"))
    words = ("run", "m.onnx", "-b", "toy:version=1.4", "-b", "onnx")
    assert place.polycmp(*words).returncode == 1
    for path in place.environments.glob("toyrt-1.4-*/polycmp/*/bin/python"):
        path.unlink()
    assert place.polycmp(*words).returncode == 1
