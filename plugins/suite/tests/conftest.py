"""A folder with small models, and `polycmp suite` in this process or as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_processes import copy_cases
from editor_schemas import wrong_in
from fakes import FakeSite
from in_process import plugins_installed, run_cases_here
from last_passes import ONE
from suite_frail import PLUGIN, RUNNER
from suite_texts import CHANGING, DIFFER, GOOD, HEAD, NAMES

from polycmp.cli.main import run as run_command
from polycmp.plugins import Registry, packages_of_modules


@pytest.fixture(autouse=True, scope="session")
def interrupts_as_a_terminal_has_them():
    """Let suites that tests start be ended by Ctrl-C, also where `nohup` or a shell's `&` ignores it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def model(scale: float = 2.0) -> Any:
    """Return y = x * scale + 1."""
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "scale"], ["scaled"]), helper.make_node("Add", ["scaled", "one"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [
            numpy_helper.from_array(np.float32([scale]), "scale"),
            numpy_helper.from_array(np.float32([1.0]), "one"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


@lru_cache
def _packages_installed(modules: tuple[str, ...], _path: tuple[str, ...]) -> Mapping[str, list[str]]:
    return packages_of_modules(modules)


def packages_installed(modules: Collection[str]) -> Mapping[str, list[str]]:
    """Return the packages of modules, looked up once in this process, as a process of a command does."""
    return _packages_installed(tuple(sorted(modules)), (*sys.path,))


@lru_cache
def wrong_for_editors(text: str, registry: Registry) -> list[str]:
    """Return what the schema has against a suite file, asked once of each text."""
    return wrong_in(text, registry)


def ended(done: Done, status: int | None) -> Done:
    """Return what a command left behind, which is no trace of a fault and, where one is given, this status."""
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
    return done


class Suite:
    """A folder in which suites are run."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.path = folder / "suite.toml"
        self._capture = capture

    def write(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")

    def command(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "polycmp", "suite", *map(str, words)]

    def __call__(self, *words: object, status: int | None = None) -> Done:
        """Run `polycmp suite`, and its cases, as processes of their own would, in this one."""
        return self._run(words, status, run_cases_here)

    def apart(self, *words: object, status: int | None = None) -> Done:
        """Run `polycmp suite` in this process, and each case in a copy of it, which may crash, hang or be ended."""
        return self._run(words, status, copy_cases)

    def driven(self, *words: object, status: int | None = None, **environ: object) -> Done:
        """Run `polycmp suite` in this process, and its cases in processes as a user's suite starts them."""

        def arrange(patch: pytest.MonkeyPatch) -> None:
            for name, value in environ.items():
                patch.setenv(name, str(value))

        return self._run(words, status, arrange)

    def _run(self, words: Sequence[object], status: int | None, arrange: Callable[[pytest.MonkeyPatch], None]) -> Done:
        self._capture.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.delenv("GITHUB_ACTIONS", raising=False)
            patch.setattr("polycmp_suite.suitefile.versions.packages_of_modules", packages_installed)
            arrange(patch)
            left = run_command(["suite", *map(str, words)], plugins_installed())
        if left != 2 and self.path.exists():  # a file that is read is one that editors accept
            assert wrong_for_editors(self.path.read_text(encoding="utf-8"), plugins_installed()) == []
        return ended(Done(left, *self._capture.readouterr()), status)

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start `polycmp suite` as a user does, and wait for nothing."""
        return subprocess.Popen(
            self.command(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def process(self, *words: object, status: int | None = None) -> Done:
        """Run `polycmp suite` as a user starts it: a process, with one for each case."""
        environment = {key: value for key, value in os.environ.items() if key != "GITHUB_ACTIONS"}
        done = subprocess.run(
            self.command(*words), cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return ended(Done(done.returncode, done.stdout, done.stderr), status)

    def git(self, *words: str) -> None:
        """Run git in the folder."""
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)

    @property
    def latest(self) -> Path:
        return self.folder / "suite-results" / "latest"

    def results(self) -> dict[str, dict]:
        """Return what lies on disk of the latest run, by case."""
        found = [json.loads(path.read_text()) for path in self.latest.glob("cases/*/result.json")]
        return {item["case"]: item for item in found}


@pytest.fixture
def suite(tmp_path, capfd) -> Suite:
    """A folder with two small models that differ, and what runs suites there."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("polycmp_onnxrt")
    pytest.importorskip("onnxruntime")
    onnx.save(model(), tmp_path / "one.onnx")
    onnx.save(model(3.0), tmp_path / "two.onnx")
    return Suite(tmp_path, capfd)


@pytest.fixture
def frail(suite, tmp_path_factory):
    """The folder of a suite, where there is also the backend `frail`."""
    site = FakeSite(tmp_path_factory.mktemp("site"))
    texts = {"__init__": "", "plugin": PLUGIN, "runner": RUNNER}
    files = {f"frail_backend/{name}.py": text for name, text in texts.items()}
    site.install("frail-backend", {"frail": "frail_backend.plugin"}, files, requires=())
    with site.installed_here():
        yield suite


@pytest.fixture
def hang(tmp_path) -> str:
    """A data loader that never gives any data, and says that it began."""
    (tmp_path / "hang.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "def load_data():\n"
        "    Path('begun').touch()\n"
        "    time.sleep(600)\n"
        "    yield {}\n"
    )
    return "hang.py"


@pytest.fixture
def two_runs(suite):
    """A green run, and one in which a case fails."""
    suite.write(HEAD + GOOD + CHANGING % "100.0\nallow-blind = true")
    suite("suite.toml", "--history", "h.sqlite", status=0)
    first = suite.latest.resolve()
    suite.write(HEAD + GOOD + CHANGING % "1e-5")
    suite("suite.toml", "--history", "h.sqlite", status=1)
    return first, suite.latest.resolve()


@pytest.fixture
def baseline(suite):
    """The folder of a baseline, with the last pass of a case in it."""
    suite.write(ONE)
    done = suite("suite.toml", "--baseline", f"file://{suite.folder}/base", status=0)
    assert "there is no baseline in" in done.stdout
    assert "1 case compared with the last pass: 1 new" in done.stdout
    return suite.folder / "base"


@pytest.fixture
def five(suite):
    """A suite of five cases, of which `b` differs."""
    cases = [f'[[case]]\nname = "{name}"\nmodel = "one.onnx"\n{DIFFER if name == "b" else ""}' for name in NAMES]
    suite.write(HEAD + "\n".join(cases))
    return suite


@pytest.fixture
def ran(suite):
    """A suite that ran twice: two cases that pass, and one that differs under a spiteful name."""
    suite.write(
        HEAD
        + '[[case]]\nmodel = "*.onnx"\n'
        + '[[case]]\nname = "<b>bad</b>"\nmodel = "one.onnx"\nbackend = ["onnxrt", "onnxrt:model=two.onnx"]\n'
    )
    suite("suite.toml", status=1)
    suite("suite.toml", status=1)
    return suite
