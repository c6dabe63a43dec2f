"""`invariants`: what counts as the batch, and which feeds are made of it."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import UsageError
from polycmp.tensors import TensorMetadata
from polycmp_checks.invariants.batch import Batch, DoesNotApplyError, find_batch, take
from polycmp_checks.invariants.bench import _grown as grown_axis
from polycmp_checks.invariants.checks import CHECK_FUNCTIONS
from polycmp_checks.invariants.findings import BackendFindings, Check, InvariantFindings
from polycmp_checks.invariants.settings import CheckSettings


def inputs(**shapes):
    metadata = TensorMetadata()
    for name, shape in shapes.items():
        metadata.add(name, "float32", shape)
    return metadata


@pytest.mark.parametrize(
    ("shapes", "asked", "axes", "size"),
    [
        ({"x": ["n", 8]}, {}, {"x": 0}, None),
        ({"x": ["n", 8], "k": [3]}, {}, {"x": 0}, None),
        ({"x": ["n", 8], "k": []}, {}, {"x": 0}, None),
        ({"x": ["n", 8], "k": [8, "n"]}, {}, {"x": 0, "k": 1}, None),
        ({"x": ["batch", "s"], "state": [2, "batch", 128], "sr": []}, {}, {"x": 0, "state": 1}, None),
        ({"x": [-1, -1], "state": [2, -1, 128], "sr": []}, {}, {"x": 0, "state": 1}, None),
        ({"x": [-1, 8], "k": [-1]}, {}, {"x": 0, "k": 0}, None),
        ({"x": [8, "n"], "k": ["n"]}, {"dim": "n"}, {"x": 1, "k": 0}, None),
        ({"x": ["batch_size", 8]}, {}, {"x": 0}, None),
        ({"x": ["time", 8]}, {"dim": "time"}, {"x": 0}, None),
        ({"x": [4, 8]}, {"axis": 0}, {"x": 0}, 4),
        ({"x": [4, 8], "k": [4]}, {"axis": 1}, {"x": 1}, 8),
        ({"x": ["n", 8], "k": [5]}, {"axis": 0}, {"x": 0, "k": 0}, 5),
        ({"x": [0, 8]}, {"axis": 0}, {"x": 0}, 0),
    ],
)
def test_a_batch_that_is_found(shapes, asked, axes, size):
    found = find_batch(inputs(**shapes), **asked)
    assert (dict(found.axes), found.size) == (axes, size)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"x": [4, 8]}, r"which dimension of the inputs is the batch \(x\[4,8\]\)"),
        ({"x": [-1, 8], "k": [0]}, "which dimension of the inputs is the batch"),
        ({"x": [4, -1], "k": [8, -1]}, "which dimension of the inputs is the batch"),
        ({"x": [-1, 8], "k": [2, -1, -1]}, "which dimension of the inputs is the batch"),
        ({"x": []}, "none with dimensions"),
        ({"x": ["n"], "k": ["m"]}, "the first dimensions have several names: m, n"),
        ({"x": ["sequence_length", 576], "h": [1, 1, 128]}, "'sequence_length', by its name no batch; see --batch-dim"),
    ],
)
def test_a_batch_that_cannot_be_told(shapes, says):
    with pytest.raises(DoesNotApplyError, match=says):
        find_batch(inputs(**shapes))


@pytest.mark.parametrize(
    ("shapes", "asked", "says"),
    [
        ({"x": ["n", 8]}, {"dim": "m"}, "no input has a dimension 'm'"),
        ({"x": ["n", 8]}, {"axis": 2}, "no input has an axis 2"),
        ({"x": [4], "k": [5]}, {"axis": 0}, r"different sizes on axis 0: \[4, 5\]"),
    ],
)
def test_a_batch_asked_for_that_is_not_there(shapes, asked, says):
    with pytest.raises(UsageError, match=says):
        find_batch(inputs(**shapes), **asked)


def test_the_number_of_rows_that_inputs_agree_on():
    batch = Batch({"x": 0, "k": 1}, None, "")
    assert batch.rows({"x": np.zeros((3, 2)), "k": np.zeros((5, 3)), "z": np.zeros(9)}) == 3
    with pytest.raises(DoesNotApplyError, match="different numbers of rows"):
        batch.rows({"x": np.zeros((3, 2)), "k": np.zeros((3, 5))})


def test_rows_are_taken_from_what_has_a_batch():
    feed = {"x": np.arange(6).reshape(3, 2), "k": np.arange(3)}
    taken = Batch({"x": 0}, None, "").take(feed, [2, 0, 0])
    assert taken["x"].tolist() == [[4, 5], [0, 1], [0, 1]]
    assert taken["k"] is feed["k"]
    assert take(feed["x"], 1, [1]).flags.c_contiguous


def test_inputs_of_so_many_rows():
    sized = Batch({"x": 1}, None, "").sized(inputs(x=[8, "n"], k=[3]), 4)
    assert (sized["x"].shape, sized["k"].shape) == ((8, 4), (3,))


@pytest.mark.parametrize(
    ("one", "more", "axis"),
    [
        ((4, 8), (5, 8), 0),
        ((8, 4), (8, 5), 1),
        ((4, 8), (4, 8), None),
        ((4, 4), (5, 5), None),
        ((4, 8), (6, 8), None),
        ((8, 2), (10, 2), None),
        ((4,), (5, 1), None),
    ],
)
def test_the_axis_of_an_output_is_the_only_one_that_grows_with_the_batch(one, more, axis):
    assert grown_axis(one, more, 4, 5) == axis


@pytest.mark.parametrize(
    ("statuses", "error", "exit_code"),
    [
        (["passed"], "", 0),
        (["passed", "skipped"], "", 0),
        (["passed", "failed"], "", 1),
        (["failed", "error"], "", 3),
        (["passed"], "broken", 3),
        (["skipped"], "", 3),
        ([], "", 3),
    ],
)
def test_what_the_statuses_come_to(statuses, error, exit_code):
    checks = [Check(f"c{index}", status) for index, status in enumerate(statuses)]
    assert InvariantFindings([BackendFindings("b", "b", error=error, checks=checks)]).exit_code == exit_code


def test_programs_get_the_same_defaults_as_the_command_line():
    assert (CheckSettings().repeat, CheckSettings().batch, CheckSettings().exact) == (5, 4, False)
    assert set(CheckSettings().checks) == set(CHECK_FUNCTIONS)
