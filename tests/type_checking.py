"""Mypy on a file that a test writes, with one cache for all such tests: reading NumPy's types takes three seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def mypy(file: Path, factory: pytest.TempPathFactory) -> str:
    """Return what mypy says of a file, with strict rules and without anybody's configuration.

    Args:
        file: The file.
        factory: Pytest's maker of folders, whose own folder all processes of a session share.
    """
    pytest.importorskip("mypy", reason="it is of the group dev")
    base = factory.getbasetemp()
    cache = (base.parent if base.name.startswith("popen-") else base) / "mypy"
    words = ["--config-file=", "--strict", "--no-error-summary", f"--cache-dir={cache}", str(file)]
    # In this process it would leave millions of objects, which each collection of garbage looks through afterwards.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not done.stderr, done.stderr
    return done.stdout
