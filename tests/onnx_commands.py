"""A command line in the tests' process, and ONNX models for it: fixtures of all tests that run commands on them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest
from commandline import signals_as_a_terminal_has_them  # noqa: F401 - a fixture for every folder of tests
from copied_processes import copy_children
from in_process import plugins_installed
from parity_folder import make_workshop
from small_models import small_model

from polycmp.cli.main import run as run_command

#: A program `polycmp` for shells: it writes down its folder and its words.
NOTES_ITS_WORDS = """#!/bin/sh
printf '%s\\0' "$PWD" "$@" > "$POLYCMP_WORDS"
"""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    def report(self, path: Path) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(path.read_text())
        return loaded


@pytest.fixture
def polycmp(capfd, monkeypatch, tmp_path):
    """Run `polycmp` as a process of its own would, in this one, inside an empty folder."""
    monkeypatch.chdir(tmp_path)
    copy_children(monkeypatch)

    def run(*words: object) -> Done:
        capfd.readouterr()
        status = run_command([str(word) for word in words], plugins_installed())
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Done(status, captured.out, captured.err)

    return run


@pytest.fixture
def shell(polycmp, tmp_path_factory, monkeypatch):
    """Run a command line in a shell, and in this process the `polycmp` that it ends with.

    What quotes, folders and `exec` make of the words is the shell's own answer; only the interpreter that they would
    start, half a second of processor time, is this one.
    """
    place = tmp_path_factory.mktemp("shell")
    program, noted = place / "polycmp", place / "words"
    program.write_text(NOTES_ITS_WORDS)
    program.chmod(0o755)
    path = f"{place}{os.pathsep}{os.environ['PATH']}"

    def run(command: str, folder: Path) -> Done:
        noted.unlink(missing_ok=True)
        environment = {**os.environ, "PATH": path, "POLYCMP_WORDS": str(noted)}
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        where, *words = noted.read_text("utf-8").split("\0")[:-1]
        with monkeypatch.context() as patch:
            patch.chdir(where)
            return polycmp(*words)

    return run


@pytest.fixture
def model(tmp_path) -> Path:
    """A small model in the folder where commands run."""
    path = tmp_path / "model.onnx"
    onnx.save(small_model(), path)
    return path


@pytest.fixture
def other(tmp_path) -> Path:
    """The same model with other weights."""
    path = tmp_path / "other.onnx"
    onnx.save(small_model(seed=1), path)
    return path


@pytest.fixture(scope="session")
def made_workshop(tmp_path_factory) -> Path:
    """The folder of the parity list, made once; tests work in copies."""
    folder = tmp_path_factory.mktemp("workshop")
    make_workshop(folder)
    return folder


@pytest.fixture
def workshop(made_workshop, tmp_path) -> Path:
    """A copy of the folder of the parity list, where commands run."""
    return shutil.copytree(made_workshop, tmp_path, dirs_exist_ok=True)
