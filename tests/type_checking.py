"""Mypy on a file that a test writes, with one cache for all such tests and runs: it takes ten seconds to fill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / ".cache" / "mypy-of-tests"


def mypy(file: Path) -> str:
    """Return what mypy says of a file, with strict rules and without anybody's configuration."""
    pytest.importorskip("mypy", reason="it is of the group dev")
    words = ["--config-file=", "--strict", "--no-error-summary", f"--cache-dir={CACHE}", str(file)]
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
