"""Results in memory, and files of them."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
from saved_data import NEEDS_SAFETENSORS

from polycmp.builtin.formats.run_results import RunResults
from polycmp.errors import DataError, FileError
from polycmp.json import from_json, load_json, to_json
from polycmp.results.runs import IterationResult


def results() -> RunResults:
    made = RunResults()
    made.add([{"y": np.array([i, np.nan], np.float32)} for i in range(3)], runtime=0.5, runner_name="trt")
    made.add([{"y": np.array(7), "z": np.array([True])}], runner_name="onnxrt")
    return made


def test_an_iteration_is_a_mapping_in_order_with_time_and_runner():
    outputs = IterationResult({"b": np.zeros(2), "a": np.ones(1)}, runtime=0.1, runner_name="trt")
    outputs["c"] = np.ones(3)
    assert [name for name, _ in outputs.items()] == list(outputs) == ["b", "a", "c"]
    assert (outputs.runtime, outputs.runner_name, IterationResult().runner_name) == (0.1, "trt", "custom_runner")


def test_iterations_are_equal_if_every_bit_of_meaning_is():
    def made(value=1.0, dtype=np.float32, name="y", runtime=0.5, runner="r"):
        return IterationResult({name: np.array([value, np.nan], dtype)}, runtime, runner)

    assert made() == made()
    for other in (made(2.0), made(dtype=np.float64), made(name="x"), made(runtime=1), made(runner="s"), {}):
        assert made() != other


def test_results_travel_between_processes():
    assert pickle.loads(pickle.dumps(results())) == results()
    assert copy.deepcopy(results())["trt"][0].runtime == 0.5


def test_runs_are_found_by_label_and_by_position():
    runs = results()
    assert list(runs.keys()) == ["trt", "onnxrt"]
    assert [len(iterations) for iterations in runs.values()] == [3, 1]
    assert runs[0] == runs[:1][0] == ("trt", runs["trt"])
    assert "trt" in runs
    assert "trtx" not in runs
    assert len(runs) == 2
    for _, [outputs] in list(runs.items())[1:]:
        assert outputs["y"] == 7
    with pytest.raises(DataError, match="'trtx'") as caught:
        runs["trtx"]
    assert "'trt'" in caught.value.why


def test_setting_updating_splitting_and_joining():
    runs = results()
    runs["trt"] = runs["trt"][:2]
    runs.update({"onnxrt": runs["onnxrt"] * 2, "new": []})
    assert {name: len(its) for name, its in runs.items()} == {"trt": 2, "onnxrt": 2, "new": 0}
    parts = list(results().split())
    assert [list(part.keys()) for part in parts] == [["trt", "onnxrt"], ["trt"], ["trt"]]
    assert RunResults.concat(parts) == results()


def test_a_path_brings_them_back(tmp_path):
    results().save(str(tmp_path / "r.json"))
    assert RunResults.load(tmp_path / "r.json") == results()


def test_an_open_file_brings_them_back_text_or_bytes():
    for file in (io.BytesIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
        results().save(file)
        file.seek(0)
        assert RunResults.load(file) == results()


def test_two_runs_of_one_label_stay_two(tmp_path):
    twice = RunResults([*results(), *results()])
    twice.save(tmp_path / "r.json")
    assert RunResults.load(tmp_path / "r.json") == twice


def test_what_is_loaded_may_be_changed(tmp_path):
    results().save(tmp_path / "r.json")
    [first, *_] = RunResults.load(tmp_path / "r.json")["trt"]
    first["y"][0] = 9
    assert first["y"][0] == 9


def two_runs(*errors: float) -> RunResults:
    expected = [IterationResult({"y": np.ones(4)}) for _ in errors]
    made = [IterationResult({"y": np.ones(4) + error}) for error in errors]
    return RunResults([("candidate", made), ("reference", expected)])


def test_results_are_read_from_the_handle_just_written():
    results = two_runs(0.5)
    for handle in (io.StringIO(), io.BytesIO()):
        results.save(handle)
        assert RunResults.load(handle) == results
        assert load_json(handle) == results


def test_results_turn_into_json_text_and_back():
    results = two_runs(0.5)
    assert RunResults.from_json(results.to_json()) == results
    assert from_json(to_json({"runs": results, "n": [1, None]}))["runs"] == results
    with pytest.raises(FileError, match="no run results"):
        RunResults.from_json("[]")


def test_results_are_streamed_an_iteration_at_a_time(tmp_path):
    results = two_runs(0.5, 0.25)
    results.save(tmp_path / "runs.json")
    pieces = list(RunResults.load_streaming([tmp_path / "runs.json", tmp_path / "runs.json"]))
    assert [len(piece["candidate"]) for piece in pieces] == [1, 1, 1, 1]
    assert RunResults.concat(pieces[:2]) == results


def test_results_are_extended_with_pairs():
    results = RunResults()
    results.extend(two_runs(0.5).items())
    assert list(results.keys()) == ["candidate", "reference"]


@pytest.mark.parametrize("name", ["r.npz", pytest.param("r.safetensors", marks=NEEDS_SAFETENSORS), "folder"])
def test_results_in_python_are_saved_and_loaded(tmp_path, name):
    results = RunResults([("trt", [IterationResult({"y": np.arange(3)}, 0.5, "trt")])])
    results.save(str(tmp_path / name))
    assert RunResults.load(tmp_path / name) == results
    twice = RunResults([*results, *results])
    with pytest.raises(FileError, match="same label"):
        twice.save(tmp_path / name)
