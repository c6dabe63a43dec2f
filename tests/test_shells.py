"""Completion in bash, zsh and fish themselves: they read what `polycmp completion` prints, and Tab is pressed."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from small_models import small_model

pty = pytest.importorskip("pty")
START = {"bash": ("--norc", "--noprofile", "-i"), "zsh": ("-f", "-i")}
LOAD = {"bash": "source c.bash", "zsh": "autoload -U compinit; compinit -u; source c.zsh"}
#: What is typed before Tab, and what stands on the line behind it.
LINES = [
    ("polycmp ru", "polycmp run"),
    ("polycmp run small", "polycmp run smallest.onnx"),
    ("polycmp run smallest.onnx -b onnxr", "-b onnxrt"),
    ("polycmp run smallest.onnx -b onnxrt:thr", "-b onnxrt:threads="),
    ("polycmp run smallest.onnx -b onnxrt:name=a,optim", "-b onnxrt:name=a,optimization="),
    ("polycmp run smallest.onnx --save-out", "--save-outputs"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shells")
    onnx.save(small_model(), folder / "smallest.onnx")
    for shell in ("bash", "zsh", "fish"):
        command = [sys.executable, "-m", "polycmp", "completion", shell]
        (folder / f"c.{shell}").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return folder


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "TERM": "xterm", "PS1": "> ", "HISTFILE": "", "COLUMNS": "200"}


class Shell:
    """An interactive shell on a terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.main, child = pty.openpty()
        self.process = subprocess.Popen(
            [shell, *START[shell]], stdin=child, stdout=child, stderr=child, cwd=folder, env=environment(),
            start_new_session=True,
        )  # fmt: skip
        os.close(child)
        self.type(LOAD[shell] + "; echo rea''dy\n")
        self.read_until("ready")

    def type(self, text: str) -> None:
        os.write(self.main, text.encode())

    def read_until(self, text: str, seconds: float = 60.0) -> str:
        seen, output = b"", select.poll()
        output.register(self.main, select.POLLIN)
        end = time.monotonic() + seconds
        while text.encode() not in seen and time.monotonic() < end:
            seen += os.read(self.main, 65536) if output.poll(500) else b""
        return seen.decode(errors="replace")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_completes(folder, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Shell(shell, folder)
    try:
        for typed, whole in LINES:
            terminal.type(f"{typed}\t")
            added = whole.split()[-1][len(typed.split()[-1]) :]
            seen = terminal.read_until(added)
            assert added in seen, (typed, seen)
            terminal.type("\x15")  # takes the line away
            terminal.read_until("", 0.3)
    finally:
        terminal.close()


@pytest.mark.parametrize(("typed", "whole"), LINES)
def test_fish_completes(folder, typed, whole):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source c.fish; complete -C '{typed}'"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert whole.split()[-1] in [line.partition("\t")[0] for line in done.stdout.splitlines()]
