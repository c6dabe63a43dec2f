"""Inputs as bare bytes, and what the core says of formats that it does not have."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from polycmp.errors import FileError, PolycmpError
from polycmp.results.files import save_input_blob

FEED = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bfloat16": np.array([1.5, np.nan, -np.inf], ml_dtypes.bfloat16),
    "strings": np.array([["a", "b"]], dtype=object),
}


def test_blobs_are_bare_little_endian_bytes(tmp_path):
    feed = {"x": FEED["x"], "big": FEED["x"].astype(">f4"), "b": FEED["bfloat16"], "a/b": np.asfortranarray(FEED["x"])}
    written = save_input_blob(tmp_path, 3, feed)
    assert [file.relative_to(tmp_path) for file in written] == [
        Path("0000000003", f"{name}.bin") for name in ("x", "big", "b", "a/b")
    ]
    assert written[0].read_bytes() == written[1].read_bytes() == written[3].read_bytes() == FEED["x"].tobytes()
    assert written[2].read_bytes() == FEED["bfloat16"].tobytes()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "x\0"])
def test_a_blob_never_leaves_its_folder(tmp_path, name):
    with pytest.raises(FileError, match="leads out of the folder"):
        save_input_blob(tmp_path / "blobs", 0, {name: FEED["x"]})
    assert list(tmp_path.iterdir()) == []


def test_text_has_no_blob(tmp_path):
    with pytest.raises(PolycmpError, match="text"):
        save_input_blob(tmp_path, 0, {"s": FEED["strings"]})
