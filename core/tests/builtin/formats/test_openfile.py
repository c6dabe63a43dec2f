"""Files that stay open while their arrays are read: mapped, given back, and as they were when they were opened."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from saved_data import NEEDS_SAFETENSORS, write_inputs, write_outputs

from polycmp.errors import FileError
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs

SAFETENSORS = pytest.param("a.safetensors", marks=NEEDS_SAFETENSORS)


@pytest.mark.parametrize("name", ["a.npz", SAFETENSORS, "folder"])
def test_large_arrays_are_mapped_not_read(tmp_path, name):
    with InputsWriter(tmp_path / name) as writer:
        writer.add({"odd name of 17 ch": np.arange(20_000.0), "y": np.ones(70_001, np.float16), "z": np.ones(7)})
    [feed] = open_inputs([tmp_path / name])
    assert all(array.flags.aligned for array in feed.values())
    for array in (feed["odd name of 17 ch"], feed["y"]):
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(base.obj, mmap.mmap)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what of a file is in memory")
@pytest.mark.parametrize("name", ["a.npz", SAFETENSORS])
def test_what_was_read_of_a_file_leaves_memory_with_its_arrays(tmp_path, name):
    with OutputsWriter(tmp_path / name) as writer:
        for _ in range(20):
            writer.add("one", {"y": np.ones(1 << 18)}, None)
    [run] = open_runs(tmp_path / name)
    held = []
    for iteration in run.iterations:
        held = [iteration["y"], *held[:1]]
        iteration["y"].sum()
        assert 1024 < kib_in_memory((tmp_path / name).resolve()) < 3 * 2048 + 512
    assert all(array.sum() == 1 << 18 for array in held)


def kib_in_memory(path):
    """Return how much of a file is in memory that counts as this process's."""
    found, kib = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if not line.split()[0].endswith(":"):
            found = line.endswith(str(path))
        elif found and line.startswith("Rss:"):
            kib += int(line.split()[1])
    return kib


@pytest.mark.parametrize("name", ["a.npz", SAFETENSORS])
def test_a_file_that_is_replaced_is_read_to_its_end_as_it_was(tmp_path, name):
    path = tmp_path / name
    write_outputs(path, ("one",), 3)
    with OutputsWriter(tmp_path / f"new-{name}") as writer:
        writer.add("one", {"other": np.zeros(3)}, 0.1)
    [run] = open_runs(path)
    iterations = run.iterations
    first = next(iterations)
    (tmp_path / f"new-{name}").replace(path)
    rest = list(iterations)
    assert [set(iteration) for iteration in rest] == [set(first)] * 2
    with pytest.raises(FileError, match="3 iterations were to be read, 1 are there"):
        list(run.iterations)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists the files that a process has open")
@pytest.mark.parametrize("suffix", [".npz", pytest.param(".safetensors", marks=NEEDS_SAFETENSORS)])
def test_opening_many_files_keeps_none_of_them_open(tmp_path, suffix):
    paths = [tmp_path / f"{i}{suffix}" for i in range(20)]
    for path in paths:
        write_inputs(path, 1)
    before = len(list(Path("/proc/self/fd").iterdir()))
    feeds = open_inputs(paths)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert [int(feed["i"][0]) for feed in feeds] == [0] * 20
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
