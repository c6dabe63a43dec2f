"""JSON files of runs, alone and in folders."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polycmp.errors import FileError
from polycmp.results.files import InputsWriter, open_inputs


def test_an_unknown_class_in_json_is_named(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"x": {"polygraphy_class": "TacticReplayData"}}]))
    with pytest.raises(FileError, match="TacticReplayData"):
        open_inputs([tmp_path / "a.json"])


def test_a_folder_of_json_files_is_read_one_by_one(tmp_path):
    for index in range(3):
        with InputsWriter(tmp_path / "folder" / f"{index:010d}.json") as writer:
            writer.add({"i": np.array([index])})
    assert [int(feed["i"][0]) for feed in open_inputs([tmp_path / "folder"])] == [0, 1, 2]
