"""Command lines that both tools accept, with nothing but the program's name changed.

`data/parity.json` holds lines on which both agree; `data/stricter.json` those that Polygraphy passes although it
should not, with the reason. Polygraphy's exit status in them was recorded by `tools/record_parity.py`.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from polycmp.json import load_json

DATA = Path(__file__).parent / "data"
PARITY = json.loads((DATA / "parity.json").read_text())
STRICTER = json.loads((DATA / "stricter.json").read_text())


#: Every third line; the others are the corpus's.
CHOSEN = [
    pytest.param(entry, marks=() if number % 3 == 0 else pytest.mark.corpus, id=entry["run"])
    for number, entry in enumerate(PARITY)
]


@pytest.mark.parametrize("entry", CHOSEN)
def test_same_command_same_end(polycmp, workshop, entry):
    done = polycmp("run", *shlex.split(entry["run"]))
    assert done.status == entry["polycmp"], done.out + done.err
    assert "fault of polycmp" not in done.err
    assert (done.status == 0) == (entry["polygraphy"] == 0)


@pytest.mark.parametrize("entry", STRICTER, ids=[entry["run"] for entry in STRICTER])
def test_polycmp_fails_where_polygraphy_passes_wrongly(polycmp, workshop, entry):
    done = polycmp("run", *shlex.split(entry["run"]))
    assert entry["polygraphy"] == 0
    assert done.status == entry["polycmp"] != 0, done.out + done.err
    assert entry["why"]


def test_the_list_is_long_enough_and_recorded():
    assert len(PARITY) >= 70
    assert len({entry["run"] for entry in PARITY}) == len(PARITY)


@pytest.mark.parametrize(
    "line",
    [
        "--onnxrt --onnx --input-shapes x:[2,8] model.onnx",
        "--onnxrt --onnx --atol y:1e-3 1e-4 model.onnx",
        "--check-error-stat max mean model.onnx --onnxrt --onnx",
        "--onnx-outputs h r model.onnx --onnxrt --onnx",
        "--onnxrt --providers cpu model.onnx",
        "--onnxrt --log-format timestamp model.onnx",
        "--onnxrt --load-inputs inputs.json model.onnx",
        "--onnxrt --trt-min-shapes x:[1,8] model.onnx",
        "--onnxrt --tactic-sources cublas model.onnx",
    ],
)
def test_an_option_that_takes_several_values_leaves_the_model_alone(polycmp, workshop, line):
    done = polycmp("run", *shlex.split(line))
    assert done.status == 0, done.out + done.err


def test_options_of_a_backend_that_takes_no_part_are_mentioned(polycmp, workshop):
    done = polycmp("run", "model.onnx", "--onnxrt", "--fp16", "--pluginref-dtype", "float64")
    assert done.status == 0
    assert "--trt is not among the backends, so nothing uses --trt-fp16" in done.err
    assert "--pluginref is not among the backends, so nothing uses --pluginref-dtype" in done.err


def test_the_function_of_a_data_loader_script_can_be_named_apart(polycmp, workshop):
    words = ["--data-loader-script", "loader.py", "--data-loader-func-name", "as_list", "--save-inputs", "saved.json"]
    assert polycmp("run", "model.onnx", "--onnxrt", *words).status == 0
    assert [feed["x"].shape for feed in load_json("saved.json")] == [(1, 8)]


def test_an_iterable_is_told_the_inputs(polycmp, workshop):
    assert polycmp("run", "model.onnx", "--onnxrt", "--data-loader-script", "loader.py:instance").status == 0
