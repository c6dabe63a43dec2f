"""The list of contents of a binary file: any names and types come back, and damage is told."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.formats.manifest import Manifest, stored_from_arrays, stored_from_manifest
from polycmp.errors import FileError
from polycmp.results import INPUTS, OUTPUTS

NAMES = ["y", "a/b:0", "é", "back\\slash", "#1", "", "x" * 300, "new\nline"]


def stored(kind, *iterations):
    """Return what a manifest of some iterations reads, and the entries of the container."""
    manifest, entries = Manifest(kind), {}
    for label, arrays in iterations:
        entries.update(manifest.add(label, arrays, 0.5))
    return stored_from_manifest(manifest.to_json(), entries.__getitem__), entries


def test_tensors_of_any_name_come_back_in_their_order_and_have_entries_that_archives_hold():
    arrays = {name: np.full(3, index, np.float32) for index, name in enumerate(NAMES)}
    found, entries = stored(OUTPUTS, ("new", arrays), ("old", arrays), ("new", arrays))
    assert [(run.label, len(run.iterations)) for run in found.runs] == [("new", 2), ("old", 1)]
    [made] = [read() for read in found.runs[1].iterations]
    assert (list(made), made.runtime, made.runner_name) == (NAMES, 0.5, "old")
    assert all(np.array_equal(made[name], arrays[name]) for name in NAMES)
    assert len(entries) == 3 * len(NAMES)
    assert all(entry.isprintable() and entry.isascii() and "\\" not in entry for entry in entries)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(4).astype(ml_dtypes.bfloat16),
        np.arange(4).astype(ml_dtypes.uint4),
        np.array(["a", "long" * 99], object),
        np.array(2.5),
    ],
    ids=lambda array: str(array.dtype),
)
def test_types_that_the_container_lacks_come_back(array):
    found, _ = stored(INPUTS, ("", {"x": array}))
    made = found.runs[0].iterations[0]()["x"]
    assert (made.dtype, made.shape, made.tolist()) == (array.dtype, array.shape, array.tolist())


LISTED = {"polycmp": "inputs", "version": 1, "runs": [{"label": "", "iterations": []}]}


@pytest.mark.parametrize(
    "damage",
    [
        {"version": True},
        {"version": "1"},
        {"polycmp": 3},
        {"runs": {}},
        {"runs": [{"label": 1, "iterations": []}]},
        {"runs": [{"label": "", "iterations": [{"runtime": None, "tensors": [{"name": "x"}]}]}]},
        {"runs": [{"label": "", "iterations": [{"runtime": "long", "tensors": []}]}]},
        {"runs": [{"label": "", "iterations": [{"runtime": None, "tensors": [{"name": "x", "entry": 3}]}]}]},
    ],
    ids=str,
)
def test_what_is_damaged_is_a_file_error(damage):
    with pytest.raises(FileError, match="its list of contents is damaged"):
        stored_from_manifest(json.dumps({**LISTED, **damage}), {}.__getitem__)


def test_a_later_version_is_named_with_what_to_install():
    with pytest.raises(FileError, match=r"written by a later polycmp \(version 2") as caught:
        stored_from_manifest(json.dumps({**LISTED, "version": 2}), {}.__getitem__)
    assert caught.value.hint == "pip install -U polycmp"


def test_arrays_of_another_program_are_one_iteration():
    found = stored_from_arrays(["b", "a"], "file", {"a": np.ones(2), "b": np.zeros(2)}.__getitem__)
    made = found.runs[0].iterations[0]()
    assert (list(made), found.runs[0].label, made["a"].tolist()) == (["b", "a"], "file", [1.0, 1.0])
