"""Saved inputs and outputs are read as they were written, lazily, and what is damaged is refused by name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from saved_data import FEED, NEEDS_SAFETENSORS, read_everything, same, write_inputs, write_outputs

from polycmp.errors import FileError
from polycmp.results.files import OutputsWriter, open_inputs, open_runs

SAFETENSORS = pytest.param("a.safetensors", marks=NEEDS_SAFETENSORS)
PATHS = ["a.json", "a.npz", SAFETENSORS, "folder"]


@pytest.mark.parametrize("name", PATHS)
def test_inputs_come_back_bit_for_bit_and_in_order(tmp_path, name):
    write_inputs(tmp_path / name)
    inputs = open_inputs([tmp_path / name, str(tmp_path / name)])
    for _ in range(2):  # every pass begins anew
        feeds = list(inputs)
        assert [int(feed["i"][0]) for feed in feeds] == [0, 1, 2, 0, 1, 2]
    for feed in feeds:
        assert list(feed) == [*FEED, "i"]
        assert [key for key in FEED if not same(FEED[key], feed[key])] == []


@pytest.mark.parametrize("name", PATHS)
def test_outputs_come_back_with_labels_order_and_times(tmp_path, name):
    write_outputs(tmp_path / name)
    runs = open_runs(tmp_path / name)
    assert [(run.label, run.count) for run in runs] == [("one", 3), ("two", 3)]
    assert {run.path for run in runs} == {tmp_path / name}
    for run in runs:
        for _ in range(2):
            iterations = list(run.iterations)
            assert [(int(it["i"][0]), it.runtime, it.runner_name) for it in iterations] == [
                (i, 0.25 + i, run.label) for i in range(3)
            ]
        assert [key for key in FEED if not same(FEED[key], iterations[0][key])] == []


_OPENED: list[str] = []  # an audit hook cannot be removed, so there is one for all tests here


sys.addaudithook(lambda event, args: _OPENED.append(str(args[0])) if event == "open" else None)


def read_all(path):
    """Return how often the file was opened, and how many bytes were read from anywhere, for all its iterations."""
    counters = Path("/proc/self/io")
    before = int(counters.read_text().split()[1]) if counters.exists() else 0
    _OPENED.clear()
    for run in open_runs(path):
        for iteration in run.iterations:
            iteration["y"].sum()
    opened = _OPENED.count(str(path))
    return opened, (int(counters.read_text().split()[1]) if counters.exists() else 0) - before


@pytest.mark.parametrize("name", ["a.json", "a.npz", SAFETENSORS])
def test_reading_is_linear_in_the_iterations(tmp_path, name):
    work = {}
    for count in (20, 400):
        path = tmp_path / f"{count}{name}"
        with OutputsWriter(path) as writer:
            for i in range(count):
                writer.add("one", {"y": np.full(16, i)}, 0.1)
        work[count] = read_all(path)
    assert work[400][0] == work[20][0] <= 3
    assert work[400][1] <= 25 * max(work[20][1], 8192)


@pytest.mark.parametrize("name", PATHS)
def test_inputs_and_outputs_are_not_taken_for_one_another(tmp_path, name):
    write_inputs(tmp_path / name, 1)
    with pytest.raises(FileError, match=r"holds inputs, not outputs") as caught:
        open_runs(tmp_path / name)
    assert "--load-inputs" in caught.value.hint
    (tmp_path / "other").mkdir()
    write_outputs(tmp_path / "other" / name, count=1)
    with pytest.raises(FileError, match=r"holds outputs, not inputs") as caught:
        open_inputs([tmp_path / "other" / name])
    assert "--load-outputs" in caught.value.hint


@pytest.mark.parametrize("name", ["a.json", "a.npz", SAFETENSORS])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_a_file_error_with_its_name(tmp_path, name, share):
    write_outputs(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(FileError) as caught:
        read_everything(tmp_path / name)
    assert name in str(caught.value)
    assert caught.value.exit_code == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["a.npz", "a.json", "folder/0.npz"])
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path, polycmp, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / name)
    np.savez(tmp_path / "good.npz", y=np.ones(3))
    path = name.partition("/")[0]
    for words in (("compare", path, "good.npz"), ("compare", "good.npz", path)):
        done = polycmp(*words)
        assert done.status == 3
        assert f"{name}: it is a named pipe, not a file" in done.err
        assert "next:" in done.err


@pytest.mark.parametrize("name", [*PATHS, "a.txt"])
def test_a_missing_path_is_a_file_error_that_suggests_the_near_one(tmp_path, name):
    (tmp_path / "a.jsom").touch()
    for read in (lambda path: open_inputs([path]), open_runs):
        with pytest.raises(FileError, match="no such file") as caught:
            read(tmp_path / name)
        assert name in str(caught.value)
