"""A command line in the tests' process whose JSON report is read: for commands whose report is what tests look at."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

import pytest

from polycmp.cli.main import run


class Said(NamedTuple):
    """What a command printed, its exit status, and the JSON that it wrote; none is an empty one."""

    status: int
    out: str
    err: str
    document: dict[str, Any]

    def joined(self) -> Said:
        """Return it without the line breaks of a narrow terminal."""
        return self._replace(out=" ".join(self.out.split()), err=" ".join(self.err.split()))


@pytest.fixture
def with_report(capsys, monkeypatch, tmp_path):
    """Return a function that runs a command in a folder, with words as a shell takes them."""

    def call(words, at=tmp_path):
        monkeypatch.chdir(at)
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        status = run([*shlex.split(words), "--report", str(report)])
        captured = capsys.readouterr()
        document = json.loads(report.read_text("utf-8")) if report.exists() else {}
        return Said(status, captured.out, captured.err, document)

    return call
