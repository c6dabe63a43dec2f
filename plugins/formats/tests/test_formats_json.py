"""Inputs and outputs as JSON."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

from polycmp.errors import FileError, UsageError
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs

FEED = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(20, dtype=np.int16)[::3],
    "rank 0": np.array(3.5),
    "empty": np.zeros((0, 3), np.int64),
    "not numbers": np.array([np.nan, np.inf, -np.inf, -0.0], np.float16),
    "bool": np.array([True, False]),
    "uint64": np.array([2**64 - 1], np.uint64),
    "complex": np.array([1 + 2j], np.complex64),
    "complex128": np.array([[1 + 2j, 3]], np.complex128),
    "big-endian": np.arange(3, dtype=">f4"),
    "bfloat16": np.array([1.5, np.nan, -np.inf], ml_dtypes.bfloat16),
    "fp8": np.arange(5).astype(ml_dtypes.float8_e4m3fn),
    "int4": np.array([[1, -8], [7, 0]], ml_dtypes.int4),
    "strings": np.array([["a", "ä\0"], ["", "\ud800"]], dtype=object),
    "bytes": np.array([b"\0\xff", "text"], dtype=object),
    "/encoder/../é:0\n": np.array([1], np.int8),
    "../../escape": np.array([2], np.int8),
    "polygraphy_class": np.array([3], np.int8),
}


def same(one, other):
    if one.dtype == object:
        return other.dtype == object and one.shape == other.shape and one.tolist() == other.tolist()
    if one.dtype.name != other.dtype.name or one.shape != other.shape:
        return False
    return one.tobytes() == other.astype(one.dtype, copy=False).tobytes()  # the byte order itself need not survive


def write_inputs(path, count=3):
    with InputsWriter(path) as writer:
        for i in range(count):
            writer.add({**FEED, "i": np.array([i])})


def write_outputs(path, labels=("one", "two"), count=3):
    with OutputsWriter(path) as writer:
        for i in range(count):
            for label in labels:
                writer.add(label, {**FEED, "i": np.array([i])}, 0.25 + i)


@pytest.mark.parametrize("name", ["a.json"])
def test_inputs_come_back_bit_for_bit_and_in_order(tmp_path, name):
    write_inputs(tmp_path / name)
    inputs = open_inputs([tmp_path / name, str(tmp_path / name)])
    for _ in range(2):  # every pass begins anew
        feeds = list(inputs)
        assert [int(feed["i"][0]) for feed in feeds] == [0, 1, 2, 0, 1, 2]
    for feed in feeds:
        assert list(feed) == [*FEED, "i"]
        assert [key for key in FEED if not same(FEED[key], feed[key])] == []


@pytest.mark.parametrize("name", ["a.json"])
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


@pytest.mark.parametrize("name", ["a.json"])
def test_runners_that_run_one_after_the_other_are_kept_apart(tmp_path, name):
    with OutputsWriter(tmp_path / name) as writer:
        for label, count in (("first", 3), ("second", 2)):
            for i in range(count):
                writer.add(label, {"y": np.array([i])}, None)
    runs = {run.label: [int(it["y"][0]) for it in run.iterations] for run in open_runs(tmp_path / name)}
    assert runs == {"first": [0, 1, 2], "second": [0, 1]}


@pytest.mark.parametrize("name", ["a.json"])
def test_arrays_may_be_overwritten_after_they_were_added(tmp_path, name):
    array, low_bit = np.zeros(3, np.float32), np.zeros(3, ml_dtypes.bfloat16)
    with InputsWriter(tmp_path / name) as writer:
        for i in range(3):
            array[:] = low_bit[:] = i
            writer.add({"x": array, "b": low_bit})
    assert [(feed["x"].tolist(), feed["b"].tolist()) for feed in open_inputs([tmp_path / name])] == [
        ([i] * 3, [i] * 3) for i in range(3)
    ]


@pytest.mark.parametrize("name", ["a.json"])
def test_inputs_and_outputs_are_not_taken_for_one_another(tmp_path, name):
    write_inputs(tmp_path / name, 1)
    with pytest.raises(FileError, match=r"holds inputs.*outputs are wanted") as caught:
        open_runs(tmp_path / name)
    assert "--load-inputs" in caught.value.hint
    (tmp_path / "other").mkdir()
    write_outputs(tmp_path / "other" / name, count=1)
    with pytest.raises(FileError, match=r"holds outputs.*inputs are wanted") as caught:
        open_inputs([tmp_path / "other" / name])
    assert "--load-outputs" in caught.value.hint


def read_everything(path):
    for run in open_runs(path):
        for iteration in run.iterations:
            for array in iteration.values():
                array.tobytes()


@pytest.mark.parametrize("name", ["a.json"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_a_file_error_with_its_name(tmp_path, name, share):
    write_outputs(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(FileError) as caught:
        read_everything(tmp_path / name)
    assert name in str(caught.value)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("name", ["a.json"])
@pytest.mark.parametrize(
    "content", [b"hello", b"\x80\x04K\x01.", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"[1, 2]", b"{}"]
)
def test_a_foreign_file_is_a_file_error_with_its_name(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    for read in (lambda path: list(open_inputs([path])), read_everything):
        with pytest.raises(FileError) as caught:
            read(tmp_path / name)
        assert name in str(caught.value)


def test_an_unknown_class_in_json_is_named(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"x": {"polygraphy_class": "TacticReplayData"}}]))
    with pytest.raises(FileError, match="TacticReplayData"):
        open_inputs([tmp_path / "a.json"])


@pytest.mark.parametrize("name", ["a.json"])
def test_a_run_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, name):
    write_outputs(tmp_path / name, count=1)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(ZeroDivisionError), OutputsWriter(tmp_path / name) as writer:
        writer.add("a", FEED, 0.1)
        writer.add("b", FEED, 0.1)
        _ = 1 / 0
    assert (tmp_path / name).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_folder_of_json_files_is_read_one_by_one(tmp_path):
    for index in range(3):
        with InputsWriter(tmp_path / "folder" / f"{index:010d}.json") as writer:
            writer.add({"i": np.array([index])})
    assert [int(feed["i"][0]) for feed in open_inputs([tmp_path / "folder"])] == [0, 1, 2]


def test_a_suffix_that_nothing_has_is_wrong_usage_and_lists_those_there_are(tmp_path):
    with pytest.raises(UsageError, match=r"'\.pt'; known are \.json, .*\.npz"):
        OutputsWriter(tmp_path / "results.pt")
    (tmp_path / "a.bin").touch()
    with pytest.raises(FileError, match=r"'\.bin'"):
        open_runs(tmp_path / "a.bin")
