"""NumPy's archives: those of others, damaged ones, and such as would fill the memory."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from saved_data import FEED, read_everything, same, write_outputs

from polycmp.errors import FileError
from polycmp.results.files import open_inputs, open_runs


def test_numpy_reads_our_npz_without_us(tmp_path):
    write_outputs(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["1/2/x"], FEED["x"])
        assert archive["0/1/i"].tolist() == [1]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_that_numpy_made_are_one_iteration(tmp_path, save):
    save(tmp_path / "golden.npz", y=FEED["x"], s=np.array(["a", "bc"]))
    [feed] = open_inputs([tmp_path / "golden.npz"])
    [run] = open_runs(tmp_path / "golden.npz")
    [result] = run.iterations
    assert run.label == "golden"
    for arrays in (feed, result):
        assert list(arrays) == ["y", "s"]
        assert same(arrays["y"], FEED["x"])
        assert arrays["s"].tolist() == ["a", "bc"]


def test_a_changed_byte_in_an_npz_is_noticed(tmp_path):
    write_outputs(tmp_path / "a.npz", count=1)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    position = data.index(FEED["x"].tobytes())
    data[position] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FileError, match="'0/0/x' is damaged") as caught:
        read_everything(tmp_path / "a.npz")
    assert "a.npz" in str(caught.value)


def test_pickled_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "evil.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileError, match="damaged") as caught:
        list(open_inputs([tmp_path / "evil.npz"]))
    assert "pickle" in str(caught.value).lower()


def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "a.npz"
    packing = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)  # in half the time
    with packing as archive, archive.open("y.npy", "w", force_zip64=True) as y:
        header = {"descr": "<f4", "fortran_order": False, "shape": (2**28 + 2**20,)}
        np.lib.format.write_array_header_1_0(y, header)
        for _ in range(257):
            y.write(bytes(4 << 20))
    assert path.stat().st_size < 6 << 20
    with pytest.raises(FileError, match="would unpack to") as refused:
        open_runs(path)
    assert "numpy.savez" in refused.value.hint


def test_arrays_that_others_compressed_are_read(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", y=np.zeros((1000, 1000)))
    (run,) = open_runs(tmp_path / "a.npz")
    (iteration,) = run.iterations
    assert iteration["y"].shape == (1000, 1000)
