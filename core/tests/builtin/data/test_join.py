"""`data concat` and `data merge`, as a user sees them."""

from __future__ import annotations

import pytest
from saved_data import inputs, outputs, read

from polycmp.results.files import open_runs


@pytest.fixture(params=["json", "npz", "safetensors", "folder"])
def suffix(request):
    if request.param == "safetensors":
        pytest.importorskip("safetensors")
    return "" if request.param == "folder" else f".{request.param}"


def test_concat_appends_iterations_of_any_format(polycmp, tmp_path, suffix):
    inputs(tmp_path / f"a{suffix}", {"x": 1}, {"x": 2})
    inputs(tmp_path / "b.json", {"x": 3})
    done = polycmp("data", "concat", f"a{suffix}", "b.json", "-o", f"all{suffix}")
    assert done.status == 0, done.err
    assert read(tmp_path / f"all{suffix}") == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_concat_of_outputs_keeps_the_runs_apart(polycmp, tmp_path):
    outputs(tmp_path / "a.json", "one", 1, 2)
    outputs(tmp_path / "b.npz", "two", 3)
    outputs(tmp_path / "c.json", "one", 4)
    assert polycmp("data", "concat", "a.json", "b.npz", "c.json", "-o", "all.json").status == 0
    found = {run.label: [float(item["o"][0]) for item in run.iterations] for run in open_runs(tmp_path / "all.json")}
    assert found == {"one": [1, 2, 4], "two": [3]}
    assert [item.runtime for run in open_runs(tmp_path / "all.json") for item in run.iterations] == [0.5] * 4


def test_concat_refuses_inputs_with_outputs_and_tells_other_names(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"z": 1})
    outputs(tmp_path / "o.json", "one", 1)
    done = polycmp("data", "concat", "a.json", "o.json", "-o", "all.json")
    assert (done.status, "holds outputs" in done.err) == (2, True)
    assert not (tmp_path / "all.json").exists()
    done = polycmp("data", "concat", "a.json", "b.json", "-o", "all.json")
    assert (done.status, "b.json holds z" in done.err) == (0, True)


def test_merge_is_right_for_several_iterations(polycmp, tmp_path, suffix):
    inputs(tmp_path / f"a{suffix}", {"x": 1}, {"x": 2})
    inputs(tmp_path / "b.json", {"z": 3}, {"z": 4})
    outputs(tmp_path / "o.json", "one", 5, 6)
    done = polycmp("data", "merge", f"a{suffix}", "b.json", "o.json", "-o", f"all{suffix}")
    assert done.status == 0, done.err
    assert read(tmp_path / f"all{suffix}") == [{"x": 1, "z": 3, "o": 5}, {"x": 2, "z": 4, "o": 6}]


def test_merge_repeats_a_single_iteration_and_stops_with_the_shortest(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1}, {"x": 2}, {"x": 3})
    inputs(tmp_path / "one.json", {"mask": 7})
    inputs(tmp_path / "two.json", {"z": 8}, {"z": 9})
    done = polycmp("data", "merge", "a.json", "one.json", "-o", "all.json")
    assert (done.status, "one.json: the only iteration is repeated" in done.err) == (0, True)
    assert "not read further" not in done.err
    assert [feed["mask"] for feed in read(tmp_path / "all.json")] == [7, 7, 7]
    done = polycmp("data", "merge", "a.json", "two.json", "-o", "all.json")
    assert (done.status, "two.json ends after 2 iterations" in done.err) == (0, True)
    assert len(read(tmp_path / "all.json")) == 2


def test_merge_says_which_tensors_replace_others(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"x": 2})
    done = polycmp("data", "merge", "a.json", "b.json", "-o", "all.json")
    assert (done.status, "x of b.json replaces what came before" in done.err) == (0, True)
    assert read(tmp_path / "all.json") == [{"x": 2}]
