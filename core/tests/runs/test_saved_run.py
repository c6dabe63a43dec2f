"""Saved runs beside live ones: their labels, their end, and files that hold nothing to compare."""

from __future__ import annotations

import numpy as np
import pytest
from saved_data import outputs

from polycmp.errors import FileError
from polycmp.plugins import Registry
from polycmp.runs.saved_run import next_outputs, open_saved


@pytest.fixture
def opened(tmp_path):
    outputs(tmp_path / "a.npz", "toy", 1.0, 2.0)
    outputs(tmp_path / "b.npz", "toy", 3.0)
    return open_saved([str(tmp_path / "a.npz"), str(tmp_path / "b.npz")], ["toy"], Registry.discover())


def test_no_two_runs_have_one_label(opened):
    assert [run.result.label for run in opened] == ["toy#2", "toy#3"]
    assert {run.result.backend for run in opened} == {"saved"}


def test_a_run_that_has_ended_is_left_out(opened):
    steps = [{label: float(made["o"][0]) for label, made in next_outputs(opened).items()} for _ in range(3)]
    assert steps == [{"toy#2": 1.0, "toy#3": 3.0}, {"toy#2": 2.0}, {}]
    assert [run.result.iterations for run in opened] == [2, 1]
    assert str(opened[0].result.outputs["o"]) == "float64[3]"


def test_a_file_without_iterations_says_how_to_make_it_again(tmp_path):
    (tmp_path / "none.json").write_text('{"lst": [], "polygraphy_class": "RunResults"}')
    with pytest.raises(FileError, match=r"none\.json.*holds no runs") as refused:
        open_saved([str(tmp_path / "none.json")], (), Registry.discover())
    assert "--save-outputs FILE" in refused.value.hint
    with pytest.raises(FileError, match="no such file"):
        open_saved([str(tmp_path / "gone.npz")], (), Registry.discover())


def test_an_archive_of_plain_arrays_is_one_run_of_one_iteration(tmp_path):
    np.savez(tmp_path / "plain.npz", y=np.ones(3))
    [plain] = open_saved([str(tmp_path / "plain.npz")], (), Registry.discover())
    assert plain.result.label == "plain"
    assert plain.next()["y"].tolist() == [1.0] * 3
    assert plain.next() is None
