"""Executors of other packages, found through the hook; and many cases in little memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from polycmp_suite.progress import Progress
from polycmp_suite.running.process import CaseProcess
from polycmp_suite.session import Session
from polycmp_suite.spec import Ended, Event, Job, Queue, Started
from polycmp_suite.store import new_run
from polycmp_suite.suitefile.case import Case, Suite

HEAD = '[defaults]\nbackend = ["onnxrt", "onnx"]\n[[case]]\nmodel = "*.onnx"\n'
PLUGIN = """
from polycmp_suite.spec import ExecutorSpec, executor_hookimpl

@executor_hookimpl
def polycmp_suite_executors():
    yield ExecutorSpec("mine", "Mine", "my_cluster.executor:MyExecutor")
    yield ExecutorSpec("lacking", "Lacks a module", "my_cluster.executor:MyExecutor", ("no_such_module",), "get it")
    yield ExecutorSpec("absent", "Is not there", "my_cluster.nowhere:MyExecutor")
"""
EXECUTOR = """
from polycmp_suite.spec import Ended, Started

class MyExecutor:
    def __init__(self, resources):
        self.resources = resources

    def run(self, queue):
        while (job := queue.take()) is not None:
            yield Started(job, "machine 7")
            yield Ended(job, 0, 1.5, where="machine 7")
"""


def install(site: Path, name: str, **modules: str) -> None:
    """Put a package with an entry point for executors into a folder."""
    package = site / name
    package.mkdir(parents=True)
    for module, text in {"__init__": "", **modules}.items():
        (package / f"{module}.py").write_text(text)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[polycmp_suite]\n{name} = {name}.plugin\n")


@pytest.fixture
def with_plugins(suite, tmp_path_factory, monkeypatch):
    site = tmp_path_factory.mktemp("site")
    install(site, "my_cluster", plugin=PLUGIN, executor=EXECUTOR)
    install(site, "broken_cluster", plugin="raise RuntimeError('no such thing')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])))
    suite.write(HEAD)
    return suite


def test_a_package_brings_an_executor_whatever_another_does(with_plugins):
    with_plugins.process("suite.toml", "--executor", "mine", status=0)
    results = with_plugins.results()
    assert {item["where"] for item in results.values()} == {"machine 7"}
    assert {item["state"] for item in results.values()} == {"passed"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lacking", "the executor 'lacking' lacks the module 'no_such_module'"),
        pytest.param("absent", "the executor 'absent' cannot be imported", marks=pytest.mark.corpus),
        pytest.param("nobody", "the plugin broken_cluster does not work", marks=pytest.mark.corpus),
    ],
)
def test_an_executor_that_cannot_be_had_is_said(with_plugins, name, words):
    done = with_plugins.process("suite.toml", "--executor", name, status=3)
    assert words in done.stderr
    assert "next:" in done.stderr
    assert not (with_plugins.folder / "suite-results").exists()


def test_an_executor_that_nobody_has_is_wrong_usage(suite):
    suite.write(HEAD)
    done = suite.process("suite.toml", "--executor", "locla", status=2)
    assert "did you mean 'local'?" in done.stderr


class EndsAtOnce:
    """Ends every case at once, and looks at what is allocated."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.ended = 0

    def run(self, queue: Queue) -> Iterator[Event]:
        while (job := queue.take()) is not None:
            yield Started(job)
            yield Ended(job, 0)
            self.ended += 1
            if self.ended in {100, 600}:
                gc.collect()
                self.seen.append(sys.getallocatedblocks())


def measure(folder: str) -> None:
    """Print how many blocks are allocated after 100 and after 600 cases have ended.

    Blocks, not bytes: the interpreter's table of names grows by a megabyte at once, whenever it is full.
    """
    words = ("run", "model.onnx", "-b", "onnxrt", "-b", "onnx")
    cases = tuple(Case(f"case-{number}", "run", words, "model.onnx", ("onnxrt", "onnx")) for number in range(600))
    executor = EndsAtOnce()
    session = Session(Suite("many", "many.toml", folder, cases), new_run(Path(folder) / "results"), executor)
    session.run(cases, {}, Progress(len(cases), silent=True, jobs=1))
    print(*executor.seen)


def test_memory_does_not_grow_with_the_cases_that_have_ended(tmp_path):
    """In a process of its own, where nothing counts that other tests have left behind."""
    name = Path(__file__).stem
    code = f"import sys; sys.path.insert(0, sys.argv[1]); from {name} import measure; measure(sys.argv[2])"
    words = [sys.executable, "-c", code, Path(__file__).parent, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    after_100, after_600 = map(int, done.stdout.split())
    assert after_600 - after_100 < 500, "less than one object for each of 500 cases"


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
