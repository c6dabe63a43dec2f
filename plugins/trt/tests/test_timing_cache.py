"""The lock around a timing cache, held by one process at a time and leaving nothing behind."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

import pytest

from polycmp.errors import FileError
from polycmp_trt.build.timing_cache import locked, read_timing_cache

COUNT_UP = """
import sys
from pathlib import Path
from polycmp_trt.build.timing_cache import locked
path = Path(sys.argv[1])
for _ in range(200):
    with locked(path):
        path.write_text(str(int(path.read_text()) + 1))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock on Windows")
def test_processes_take_turns(tmp_path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(path)]) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert path.read_text() == "600"
    assert [item.name for item in tmp_path.iterdir()] == ["count"]


def test_the_lock_goes_also_when_the_block_fails(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "cache"):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot lock"), locked(tmp_path / "file" / "cache"):
        pass


def test_a_missing_cache_is_empty_and_a_warning(tmp_path, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert read_timing_cache(tmp_path / "none") == b""
    assert "none" in caplog.text


def test_caches_from_files_of_both_kinds(tmp_path) -> None:
    (tmp_path / "cache").write_bytes(b"timings")
    assert read_timing_cache(tmp_path / "cache") == b"timings"
    assert read_timing_cache(io.BytesIO(b"timings")) == b"timings"
    with pytest.raises(FileError, match="cannot read"):
        read_timing_cache(tmp_path)
