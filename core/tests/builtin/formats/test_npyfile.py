"""A single array in a file."""

from __future__ import annotations

import numpy as np
import pytest


def test_an_array_alone_is_called_output(tmp_path, polycmp):
    for name, array in (("new", np.arange(6.0) + 1), ("old", np.arange(6.0))):
        np.save(tmp_path / f"{name}.npy", array)
    done = polycmp("compare", "new.npy", "old.npy")
    assert done.status == 1
    assert "new against old" in done.out
    assert "output   float64[6]" in done.out
    assert polycmp("compare", "old.npy", "old.npy").status == 0


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00v\x00{", b"\x93NUMPY junk", b"no array"])
def test_a_damaged_array_is_an_error_of_the_file(tmp_path, polycmp, content):
    (tmp_path / "a.npy").write_bytes(content)
    done = polycmp("compare", "a.npy", "a.npy")
    assert done.status == 3
    assert "a.npy: this is not an npy file, or only a part of one" in done.err


def test_objects_are_not_unpickled(tmp_path, polycmp):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    done = polycmp("compare", "a.npy", "a.npy")
    assert done.status == 3
    assert "Python objects" in done.err


def test_json_in_a_file_of_a_type_that_is_only_read_is_told_and_read_again(tmp_path, polycmp):
    np.save(tmp_path / "a.npy", np.arange(3.0))
    done = polycmp("data", "concat", "a.npy", "-o", "b.npy")
    assert done.status == 0
    assert "b.npy holds JSON, not what its suffix says" in done.err
    assert polycmp("inspect", "data", "b.npy").status == 0
