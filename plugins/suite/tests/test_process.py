"""Processes of cases: those that run one case after another, and what ends with the case that did it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pytest
from suite_texts import HEAD, case

from polycmp_suite.node import Shipped, execute
from polycmp_suite.running.process import CaseProcess
from polycmp_suite.spec import Job

#: A backend that notes which process runs which model, and does what the model is called after.
RUNNER = """
import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata


class FrailRunner(Runner):
    def __init__(self, path, name):
        super().__init__(name)
        self.stem = Path(path).stem

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, [1, 4])

    def infer_impl(self, feed_dict):
        with open("notes.txt", "a") as notes:
            print(self.stem, os.getpid(), os.environ.get("FRAIL", "unset"), file=notes)
        does = self.stem.rstrip("0123456789")
        if does == "aborts":
            os.abort()
        if does == "sleeps":
            time.sleep(600)
        if does == "starts":
            subprocess.Popen(["sleep", "600"])
        if does == "leaves":
            threading.Thread(target=time.sleep, args=(600,)).start()
        if does == "sets":
            os.environ["FRAIL"] = "set"
            os.chdir("/")
        return {"y": feed_dict["x"] * np.float32(2) + np.float32(1)}


def make_runner(model, options, *, name):
    return FrailRunner(model.path, name)
"""
PLUGIN = """
from polycmp.spec import RunnerSpec, hookimpl


@hookimpl
def polycmp_runners():
    yield RunnerSpec("frail", "Does what the model is called after", "frail_backend.runner:make_runner")
"""


@pytest.fixture
def frail(suite, tmp_path_factory, monkeypatch):
    """The folder of a suite, where there is also the backend `frail`."""
    site = tmp_path_factory.mktemp("site")
    package, info = site / "frail_backend", site / "frail_backend-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    for name, text in (("__init__", ""), ("plugin", PLUGIN), ("runner", RUNNER)):
        (package / f"{name}.py").write_text(text)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: frail-backend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[polycmp]\nfrail = frail_backend.plugin\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep))
    return suite


def ran(suite, *names: str, more: str = "", words: tuple = (), status: int = 0) -> dict[str, dict]:
    """Run cases of these models, one after the other, and return their results."""
    for name in names:
        shutil.copy(suite.folder / "one.onnx", suite.folder / f"{name}.onnx")
    suite.write('[defaults]\nbackend = ["frail", "onnxrt"]\n' + "".join(case(n, more, f"{n}.onnx") for n in names))
    suite.process("suite.toml", *words, status=status)
    return suite.results()


def processes_in(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if place.readlink() == folder:
                found.append(int(place.parent.name))
    return found


def notes(suite) -> list[list[str]]:
    return [line.split() for line in (suite.folder / "notes.txt").read_text().splitlines()]


def test_cases_that_name_no_code_run_in_one_process_each_with_its_own_messages_time_and_environment(frail):
    results = ran(frail, "a", "b", "sets", "c")
    assert {item["state"] for item in results.values()} == {"passed"}
    assert len({pid for _, pid, _ in notes(frail)}) == 1
    assert {stem: environment for stem, _, environment in notes(frail)}["c"] == "unset"  # the suite's own
    for name, other in (("a", "b"), ("b", "a")):
        log = (frail.latest / "cases" / results[name]["folder"] / "log.txt").read_text()
        assert "PASSED" in log
        assert f"/{other}-" not in log
        assert results[name]["seconds"] > 0
        assert results[name]["memory"] > 1 << 20


def test_a_crash_costs_the_process_and_is_a_result_of_its_case_alone(frail):
    results = ran(frail, "a", "aborts", "b", "c", status=3)
    assert {name: item["state"] for name, item in results.items()} == {
        "a": "passed",
        "aborts": "error",
        "b": "passed",
        "c": "passed",
    }
    assert "SIGABRT" in results["aborts"]["reason"]
    assert "frail" in results["aborts"]["reason"]  # whose crash it was, as the command alone says it
    processes = {stem: pid for stem, pid, _ in notes(frail)}
    assert processes["b"] == processes["c"] != processes["a"]


def test_a_case_that_hangs_is_ended_and_the_next_ones_go_on(frail):
    results = ran(frail, "a", "sleeps", "b", more="timeout = 5", status=3)
    assert results["sleeps"]["reason"] == "it took longer than 5 s"
    assert (results["a"]["state"], results["b"]["state"]) == ("passed", "passed")
    assert processes_in(frail.folder) == []


@pytest.mark.parametrize("does", ["leaves", pytest.param("starts", marks=pytest.mark.corpus)])
def test_what_a_case_leaves_running_ends_with_it(frail, does):
    results = ran(frail, does, "b", "c")
    assert {item["state"] for item in results.values()} == {"passed"}
    processes = {stem: pid for stem, pid, _ in notes(frail)}
    assert processes[does] != processes["b"] == processes["c"]
    assert processes_in(frail.folder) == []


@pytest.mark.parametrize(
    "own", ['data-loader-script = "load.py"', pytest.param('memory = "8G"', marks=pytest.mark.corpus)]
)
def test_what_names_code_or_a_limit_has_a_process_of_its_own(frail, own):
    (frail.folder / "load.py").write_text(
        "import numpy as np\ndef load_data():\n    yield {'x': np.ones((1, 4), np.float32)}\n"
    )
    ran(frail, "a", "b", more=own)
    assert len({pid for _, pid, _ in notes(frail)}) == 2


def test_results_are_those_of_the_commands_alone(suite):
    (suite.folder / "broken.onnx").write_bytes(b"this is no model")
    differ = 'backend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
    names = ["good", "bad", "broken", "again"]
    text = HEAD + case("good") + case("bad", differ) + case("broken", model="broken.onnx") + case("again")
    told = []
    for more, run in (("", suite.process), ('memory = "8G"\n', suite.apart)):
        suite.write(text.replace("[defaults]\n", f"[defaults]\n{more}"))
        run("suite.toml", status=3)
        results = suite.results()
        told.append([{key: results[name][key] for key in ("state", "reason", "status", "max_error")} for name in names])
    assert told[0] == told[1]


def test_a_machine_of_a_cluster_leaves_no_process_behind(suite, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    job = Job(
        "one",
        ("run", "one.onnx", "-b", "onnxrt", "-b", "onnx", "--report", "/there/report.json"),
        str(suite.folder),
        "/there",
        shares_process=True,
    )
    content = (suite.folder / "one.onnx").read_bytes()
    shipped = Shipped("one.onnx", hashlib.sha256(content).hexdigest())
    ended, files, _ = execute(job, [shipped], lambda _: content, "node")
    assert (ended.status, ended.stopped) == (0, "")
    assert json.loads(files["report.json"])["verdict"] == "passed"
    assert working_below(tmp_path) == []


def working_below(folder: Path) -> list[Path]:
    """Return the folders below this one in which processes work, there or removed."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if str(place.readlink()).startswith(f"{folder}/"):
                found.append(place.readlink())
    return found


@pytest.mark.parametrize(("words", "status"), [(("version",), 0), (("rnu",), 2), (("plugins", "list"), 0)])
def test_cases_are_waited_for_where_the_system_cannot_look_without_reaping(tmp_path, monkeypatch, words, status):
    """macOS before Python 3.13 has no `os.waitid`."""
    monkeypatch.delattr(os, "waitid")
    process = CaseProcess(Job("case", words, str(tmp_path), str(tmp_path)))
    deadline = time.monotonic() + 60
    while (ended := process.look()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ended is not None
    assert (ended.status, ended.stopped) == (status, "")
