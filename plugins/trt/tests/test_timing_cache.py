"""Timing caches: the lock around a file, and what the builds of one model share."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

import guilty
import pytest

from polycmp.errors import FileError
from polycmp.model import Model
from polycmp.plugins import Registry
from polycmp_trt.factory import make_runner
from polycmp_trt.options import Options
from polycmp_trt.timing_cache import SharedTimings, locked, read_timing_cache

COUNT_UP = """
import sys
from pathlib import Path
from polycmp_trt.timing_cache import locked
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


class TestSharedTimings:
    """Parts of a model start from what building the whole has measured, unless the user arranges timings."""

    def model(self, tmp_path):
        path = guilty.chain(tmp_path / "m.onnx", 2)
        return Model(str(path), Registry.discover())

    def test_parts_share_one_memory_and_devices_do_not(self, tmp_path):
        whole = self.model(tmp_path)
        part = whole.part(whole.load("onnx"))
        SharedTimings(whole.shared, 0).write(b"timed")
        assert SharedTimings(part.shared, 0).read() == b"timed"
        assert SharedTimings(part.shared, 1).read() == b""
        assert SharedTimings(self.model(tmp_path).shared, 0).read() == b""

    def test_only_parts_read_and_a_cache_of_the_users_own_comes_first(self, tmp_path):
        whole = self.model(tmp_path)
        part = whole.part(whole.load("onnx"))
        for model, loads in ((whole, False), (part, True)):
            engine = make_runner(model, Options(), name="trt")._source
            assert isinstance(engine.save_timing_cache, SharedTimings)
            assert isinstance(engine.config.load_timing_cache, SharedTimings) is loads
        for options in (
            Options(timing_cache="mine"),
            Options(save_timing_cache="mine"),
            Options(load_tactics="t.json"),
        ):
            engine = make_runner(part, options, name="trt")._source
            assert not isinstance(engine.save_timing_cache, SharedTimings)
            assert not isinstance(engine.config.load_timing_cache, SharedTimings)
