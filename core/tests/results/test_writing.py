"""Files of inputs and outputs appear whole or not at all; inputs as bare bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from copied_processes import run_as_process
from in_parts import each_once
from saved_data import FEED, NEEDS_SAFETENSORS, write_outputs
from toymodels import small

from polycmp.errors import FileError, PolycmpError
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs, save_input_blob

SAFETENSORS = pytest.param("a.safetensors", marks=NEEDS_SAFETENSORS)
PATHS = ["a.json", "a.npz", SAFETENSORS, "folder"]
BLOB = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bfloat16": np.array([1.5, np.nan, -np.inf], ml_dtypes.bfloat16),
    "strings": np.array([["a", "b"]], dtype=object),
}


def test_blobs_are_bare_little_endian_bytes(tmp_path):
    feed = {
        "x": BLOB["x"],
        "big": BLOB["x"].astype(">f4"),
        "b": BLOB["bfloat16"],
        "a/b": np.asfortranarray(BLOB["x"]),
    }
    written = save_input_blob(tmp_path, 3, feed)
    assert [file.relative_to(tmp_path) for file in written] == [
        Path("0000000003", f"{name}.bin") for name in ("x", "big", "b", "a/b")
    ]
    assert written[0].read_bytes() == written[1].read_bytes() == written[3].read_bytes() == BLOB["x"].tobytes()
    assert written[2].read_bytes() == BLOB["bfloat16"].tobytes()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "x\0"])
def test_a_blob_never_leaves_its_folder(tmp_path, name):
    with pytest.raises(FileError, match="leads out of the folder"):
        save_input_blob(tmp_path / "blobs", 0, {name: BLOB["x"]})
    assert list(tmp_path.iterdir()) == []


def test_text_has_no_blob(tmp_path):
    with pytest.raises(PolycmpError, match="text"):
        save_input_blob(tmp_path, 0, {"s": BLOB["strings"]})


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


@pytest.mark.parametrize("name", PATHS)
def test_elements_that_no_format_holds_are_refused_by_name(tmp_path, name):
    with pytest.raises(FileError, match="'when'"), InputsWriter(tmp_path / name) as writer:
        writer.add({"when": np.array(["2026-01-01"], "datetime64[D]")})


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


def write_on_a_full_disk(path, count):
    """Write outputs where files end at a megabyte; return the exit status."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    warnings.simplefilter("error")
    try:
        with OutputsWriter(path) as writer:
            for label in "ab":
                writer.add(label, {"y": np.zeros(count, np.float32)}, 0.1)
    except FileError as error:
        print(error)
        return error.exit_code
    return 0


@pytest.mark.parametrize(("name", "count"), each_once(PATHS, [300_000, 249_950]))
def test_a_full_disk_is_a_file_error_and_leaves_no_half_file(tmp_path, name, count):
    done = run_as_process(lambda: write_on_a_full_disk(tmp_path / name, count), tmp_path, os.environ)
    assert (done.returncode, done.stderr) == (3, b"")
    assert b"File too large" in done.stdout
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
