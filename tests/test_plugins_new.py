"""`plugins new`: what it writes installs and passes as written, on the ONNX model that its tests make."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest


@pytest.fixture
def python(tmp_path):
    """A throw-away environment that sees everything installed here, so that installing into it hurts nobody."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ask = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    here = [entry for entry in sys.path if Path(entry).is_dir()]
    (site / "here.pth").write_text("\n".join(here) + "\n")
    return python


def test_what_it_writes_installs_and_its_tests_pass_as_written(tmp_path, python):
    pytest.importorskip("hatchling")

    def run(*args):
        result = subprocess.run([str(python), "-m", *args], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    run("polycmp", "plugins", "new", "my_rt")
    folder = str(tmp_path / "polycmp-my-rt")
    run("pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", folder)
    shown = run("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, folder)
    assert " passed" in shown
    assert " failed" not in shown
    assert "backend: my_rt" in run("polycmp", "plugins", "list")
    assert "my_rt (polycmp-my-rt 0.1.0): ok" in run("polycmp", "plugins", "check", "my_rt")
