"""Processes of cases: those that run one case after another, and what ends with the case that did it."""

from __future__ import annotations

import hashlib
import json
import os
import time

import pytest
from suite_frail import notes, ran
from suite_processes import processes_in, working_below
from suite_texts import HEAD, case

from polycmp_suite.node import Shipped, execute
from polycmp_suite.running.process import CaseProcess
from polycmp_suite.spec import Job


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
    for more, run in (("", suite.driven), ('memory = "8G"\n', suite.apart)):
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
