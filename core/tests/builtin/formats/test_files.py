"""Inputs and outputs on disk: what goes in comes out, and nothing half-written is ever taken for whole."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from saved_data import FEED, NEEDS_SAFETENSORS, read_everything, same, write_inputs, write_outputs
from toymodels import small

from polycmp.builtin.formats.run_results import RunResults
from polycmp.errors import FileError, UsageError
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs
from polycmp.results.runs import IterationResult

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


@pytest.mark.parametrize("name", PATHS)
def test_runners_that_run_one_after_the_other_are_kept_apart(tmp_path, name):
    with OutputsWriter(tmp_path / name) as writer:
        for label, count in (("first", 3), ("second", 2)):
            for i in range(count):
                writer.add(label, {"y": np.array([i])}, None)
    runs = {run.label: [int(it["y"][0]) for it in run.iterations] for run in open_runs(tmp_path / name)}
    assert runs == {"first": [0, 1, 2], "second": [0, 1]}


@pytest.mark.parametrize("name", PATHS)
def test_arrays_may_be_overwritten_after_they_were_added(tmp_path, name):
    array, low_bit = np.zeros(3, np.float32), np.zeros(3, ml_dtypes.bfloat16)
    with InputsWriter(tmp_path / name) as writer:
        for i in range(3):
            array[:] = low_bit[:] = i
            writer.add({"x": array, "b": low_bit})
    assert [(feed["x"].tolist(), feed["b"].tolist()) for feed in open_inputs([tmp_path / name])] == [
        ([i] * 3, [i] * 3) for i in range(3)
    ]


@NEEDS_SAFETENSORS
def test_the_formats_can_be_mixed_and_chained(tmp_path):
    paths = [tmp_path / name for name in ("a.json", "a.npz", "a.safetensors", "folder")]
    for path in paths:
        write_inputs(path, 1)
    assert len(list(open_inputs(paths))) == 4


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


# --- damage ----------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["a.json", "a.npz", SAFETENSORS])
@pytest.mark.parametrize(
    "content", [b"hello", b"\x80\x04K\x01.", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"[1, 2]", b"{}"]
)
def test_a_foreign_file_is_a_file_error_with_its_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    for read in (lambda path: list(open_inputs([path])), read_everything):
        with pytest.raises(FileError) as caught:
            read(tmp_path / name)
        assert name in str(caught.value)


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


def test_a_folder_without_iterations_and_an_unknown_suffix_are_errors(tmp_path):
    with pytest.raises(FileError, match="no saved iterations"):
        open_runs(tmp_path)
    (tmp_path / "a.bin").touch()
    with pytest.raises(FileError, match=r"'\.bin'"):
        open_runs(tmp_path / "a.bin")
    with pytest.raises(UsageError, match=r"'\.nzp'"):
        OutputsWriter(tmp_path / "results.nzp")


def test_a_format_of_the_future_says_so(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("polycmp.json", json.dumps({"polycmp": "inputs", "version": 99, "runs": []}))
    with pytest.raises(FileError, match="later polycmp"):
        open_inputs([tmp_path / "a.npz"])


@pytest.mark.parametrize("name", PATHS)
def test_elements_that_no_format_holds_are_refused_by_name(tmp_path, name):
    with pytest.raises(FileError, match="'when'"), InputsWriter(tmp_path / name) as writer:
        writer.add({"when": np.array(["2026-01-01"], "datetime64[D]")})


# --- writing whole or not at all -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.json", "a.npz", SAFETENSORS])
def test_a_run_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, name):
    write_outputs(tmp_path / name, count=1)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(ZeroDivisionError), OutputsWriter(tmp_path / name) as writer:
        writer.add("a", FEED, 0.1)
        writer.add("b", FEED, 0.1)
        _ = 1 / 0
    assert (tmp_path / name).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


KILLED = """
import sys
import numpy as np
from polycmp.results.files import OutputsWriter
with OutputsWriter(sys.argv[1]) as writer:
    for i in range(10**6):
        writer.add("a", {"y": np.full(300_000, i, np.float32)}, 0.1)
        writer.add("b", {"y": np.full(300_000, i, np.float32)}, 0.1)
        if i == 2:
            print("busy", flush=True)
"""


@pytest.mark.parametrize("name", ["a.json", "a.npz", "folder"])
def test_kill_9_while_saving_leaves_no_file_or_a_whole_one(tmp_path, name):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / name)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if name == "folder":
        for run in open_runs(tmp_path / name):  # the iterations that were finished, each whole
            values = [set(it["y"].tolist()) for it in run.iterations]
            assert values == [{float(i)} for i in range(len(values))]
            assert len(values) >= 2
        write_outputs(tmp_path / name, count=1)  # what the killed run left does not bar the next one
        assert [(run.label, run.count) for run in open_runs(tmp_path / name)] == [("one", 1), ("two", 1)]
        assert len(list((tmp_path / name).iterdir())) == 2
    else:
        assert not (tmp_path / name).exists()


FULL = """
import resource, sys
import numpy as np
from polycmp.errors import FileError
from polycmp.results.files import OutputsWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    with OutputsWriter(sys.argv[1]) as writer:
        for label in "ab":
            writer.add(label, {"y": np.zeros(int(sys.argv[2]), np.float32)}, 0.1)
except FileError as error:
    print(error)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("count", [300_000, 249_950])
def test_a_full_disk_is_a_file_error_and_leaves_no_half_file(tmp_path, name, count):
    program = [sys.executable, "-W", "error", "-c", FULL, str(tmp_path / name), str(count)]
    done = subprocess.run(program, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "")
    assert "File too large" in done.stdout
    assert [file for file in tmp_path.rglob("*") if not file.is_dir()] == []


def test_a_writer_outside_its_block_says_so(tmp_path):
    with pytest.raises(FileError, match="with block"):
        InputsWriter(tmp_path / "a.npz").add(FEED)


def test_a_folder_of_ours_is_replaced_and_any_other_is_left_alone(tmp_path):
    write_outputs(tmp_path / "out", count=3)
    write_outputs(tmp_path / "out", labels=["new"], count=1)
    assert [(run.label, run.count) for run in open_runs(tmp_path / "out")] == [("new", 1)]
    with pytest.raises(FileError, match="other things than inputs"), InputsWriter(tmp_path / "out"):
        pass
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match=r"thesis\.txt"), OutputsWriter(tmp_path / "out"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="is a file"), OutputsWriter(tmp_path / "file"):
        pass


@pytest.mark.parametrize("name", PATHS)
def test_a_folder_that_cannot_be_made_is_a_file_error(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(FileError) as caught, InputsWriter(tmp_path / "file" / name) as writer:
        writer.add(FEED)
    assert "file" in str(caught.value)


@pytest.mark.parametrize("name", ["i.npz", pytest.param("i.safetensors", marks=NEEDS_SAFETENSORS), "folder"])
def test_a_run_saves_and_loads_them(polycmp, tmp_path, name):
    small(tmp_path / "m.toy")
    words = ("--iterations", "2", "--input-shapes", "x:[3,8]", "--save-inputs", name, "--save-outputs", f"out_{name}")
    assert polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words).status == 0
    again = ("-b", "plain:name=again", "--load-inputs", name, "--load-outputs", f"out_{name}", "--report", "r.json")
    done = polycmp("run", "m.toy", *again)
    assert done.status == 0, done.err
    assert {pair["iterations"] for pair in done.report()["comparison_results"]} == {2}
    assert {feed["x"].shape for feed in open_inputs([done.folder / name])} == {(3, 8)}
    assert [run.label for run in open_runs(done.folder / f"out_{name}")] == ["toy", "plain"]


@pytest.mark.parametrize("name", ["r.npz", pytest.param("r.safetensors", marks=NEEDS_SAFETENSORS), "folder"])
def test_results_in_python_are_saved_and_loaded(tmp_path, name):
    results = RunResults([("trt", [IterationResult({"y": np.arange(3)}, 0.5, "trt")])])
    results.save(str(tmp_path / name))
    assert RunResults.load(tmp_path / name) == results
    twice = RunResults([*results, *results])
    with pytest.raises(FileError, match="same label"):
        twice.save(tmp_path / name)


def test_a_suffix_that_nothing_has_is_wrong_usage_and_lists_those_there_are(tmp_path):
    with pytest.raises(UsageError, match=r"'\.nzp'; known are \.json, .*\.npz"):
        OutputsWriter(tmp_path / "results.nzp")
    (tmp_path / "a.bin").touch()
    with pytest.raises(FileError, match=r"'\.bin'"):
        open_runs(tmp_path / "a.bin")
