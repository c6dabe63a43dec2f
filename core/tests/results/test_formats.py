"""Which format reads or writes a path, and what is said of one that has none."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from saved_data import NEEDS_SAFETENSORS, read_everything, write_inputs, write_outputs

from polycmp.errors import FileError, PluginError, UsageError
from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs
from polycmp.results.formats import Formats, format_code

SAFETENSORS = pytest.param("a.safetensors", marks=NEEDS_SAFETENSORS)
PATHS = ["a.json", "a.npz", SAFETENSORS, "folder"]


@NEEDS_SAFETENSORS
def test_the_formats_can_be_mixed_and_chained(tmp_path):
    paths = [tmp_path / name for name in ("a.json", "a.npz", "a.safetensors", "folder")]
    for path in paths:
        write_inputs(path, 1)
    assert len(list(open_inputs(paths))) == 4


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


def test_a_suffix_that_nothing_has_is_wrong_usage_and_lists_those_there_are(tmp_path):
    with pytest.raises(UsageError, match=r"'\.nzp'; known are \.json, .*\.npz"):
        OutputsWriter(tmp_path / "results.nzp")
    (tmp_path / "a.bin").touch()
    with pytest.raises(FileError, match=r"'\.bin'"):
        open_runs(tmp_path / "a.bin")


@pytest.mark.parametrize("name", ["results.out", "results.1"])
def test_a_suffix_of_no_format_is_written_as_json_and_read_again(tmp_path, name):
    write_outputs(tmp_path / name, labels=["one"], count=1)
    assert [run.label for run in open_runs(tmp_path / name)] == ["one"]


@pytest.mark.parametrize("name", ["results.html", "model.onnx", "results.nzp"])
def test_a_suffix_of_reports_models_or_a_slip_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        Formats().find_for_writing(tmp_path / name)


def test_json_is_read_whatever_the_suffix_says(tmp_path):
    write_outputs(tmp_path / "a.json", labels=["one"], count=2)
    (tmp_path / "a.json").rename(tmp_path / "a.npz")
    assert [(run.label, run.count) for run in open_runs(tmp_path / "a.npz")] == [("one", 2)]


def test_the_format_of_a_plugin_writes_and_reads(tmp_path, toybox):
    with InputsWriter(tmp_path / "a.box") as writer:
        writer.add({"x": np.arange(3.0)})
    [feed] = open_inputs([tmp_path / "a.box"])
    assert feed["x"].tolist() == [0.0, 1.0, 2.0]


def test_an_exception_of_a_format_is_an_error_of_its_plugin(tmp_path):
    with pytest.raises(PluginError, match="cannot read it") as failed, format_code("cannot read it", "box", tmp_path):
        raise ValueError("no box")
    assert (failed.value.whose, failed.value.why) == ("box", "ValueError: no box")
    with pytest.raises(OSError, match="full"), format_code("cannot write it", "box", tmp_path):
        raise OSError("the disk is full")
