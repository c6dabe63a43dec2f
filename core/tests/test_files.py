"""Documents on disk: JSON that any reader takes, whatever numbers are in it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from polycmp.files import cannot_write, write_document


def test_a_report_holds_no_bare_nan(tmp_path):
    path = tmp_path / "r.json"
    write_document(path, {"a": float("nan"), "b": [np.float32("inf"), -np.inf], 3: np.int64(4), "c": (None, True, "ä")})
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert read == {"a": "nan", "b": ["inf", "-inf"], "3": 4, "c": [None, True, "ä"]}


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "df -h here"),
        (errno.EROFS, "ls -ld here"),
        (errno.EFBIG, "ulimit -f"),
    ],
)
def test_what_cannot_be_written_is_looked_at_where_there_is_something(tmp_path, monkeypatch, number, hint):
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    assert cannot_write(Path("here/not/there/x.npz"), OSError(number, "no")).hint == hint
