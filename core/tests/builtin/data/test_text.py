"""Saved inputs and outputs as text."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.data.text import DataView, describe_data, statistics
from polycmp.plugins import Registry
from polycmp.results.files import InputsWriter, OutputsWriter

GRID = np.array([[1, -2], [3, 4]], np.float32)


@pytest.mark.parametrize(
    ("array", "line"),
    [
        (GRID, "mean=1.5, std-dev=2.2913, median=2, min=-2 at (0, 1), max=4 at (1, 1), avg-magnitude=2.5"),
        (GRID.astype(ml_dtypes.bfloat16), "mean=1.5, std-dev=2.2913"),
        (np.array([True, False]), "mean=0.5"),
        (np.array(7), "min=7 at (), max=7 at ()"),
        (np.array([-128, 127], np.int8), "avg-magnitude=127.5"),
        (np.zeros((0, 3)), "empty"),
        (np.array(["a", "b"]), "2 string values"),
        (np.array([1j]), "1 complex values"),
    ],
    ids=lambda item: str(getattr(item, "dtype", "")),
)
def test_a_tensor_is_one_line_of_figures(array, line):
    assert line in statistics(array)


@pytest.fixture
def files(tmp_path):
    with InputsWriter(tmp_path / "in.npz") as inputs, OutputsWriter(tmp_path / "out.npz") as outputs:
        for step in range(2):
            inputs.add({"x\x1b": GRID + step})
            outputs.add("new", {"y": GRID + step}, 0.1)
    return tmp_path


def lines(path, **view):
    return list(describe_data(str(path), DataView(**view), Registry.discover()))


def test_inputs_and_outputs_are_told_apart_and_names_shown_harmlessly(files):
    assert lines(files / "in.npz")[0] == "==== Inputs ===="
    assert lines(files / "in.npz")[1].startswith("x\\x1b [float32[2,2]] mean=1.5")
    assert lines(files / "out.npz")[:3] == ["==== Outputs of 1 run ====", "", "---- new (2 iterations) ----"]


def test_as_much_is_shown_as_is_asked_for(files):
    assert len(lines(files / "in.npz")) == 2
    every = lines(files / "in.npz", every=True, values=True)
    assert [line for line in every if line.startswith("iteration")] == ["iteration 0", "iteration 1"]
    assert "    [[ 1. -2.]" in every
    bars = [line for line in lines(files / "out.npz", histogram=True) if "|" in line]
    assert len(bars) == 10
    assert sum(int(line.split("|")[1]) for line in bars) == GRID.size
