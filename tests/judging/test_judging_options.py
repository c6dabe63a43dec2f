"""How outputs are judged is one group of options, which every command that judges takes and means alike."""

from __future__ import annotations

import json
import re
from pathlib import Path

import low_precision_models as low_precision
import numpy as np
import onnx
import pytest

from polycmp.cli.main import main

JUDGING = {
    "--compare", "--compare-func-script", "--map-output", "--no-shape-check", "--postprocess",
    "--postprocess-func-script", "--validate", "--check-average", "--allow-blind",
}  # fmt: skip
#: The largest number of each row, and nothing of how large it is.
METRIC = """
import numpy as np

def postprocess_outputs(outputs):
    return {"winner": np.argmax(outputs["y"], axis=-1)}
"""
TASK = ("--load-inputs", "x.npz", "--postprocess-func-script", "metric.py")
#: Tolerances by which a changed answer fails; where none is given, rounding that may have changed it is measured.
EXACT = ("--atol", "1e-5", "--rtol", "1e-5")
REPORT = ("--report", "found.json")


@pytest.mark.parametrize("command", ["run", "compare", "bisect", "locate", "debug precision", "debug reduce"])
def test_every_command_that_judges_has_the_whole_group(command, capsys):
    assert main([*command.split(), "--help", "all"]) == 0
    shown = capsys.readouterr().out
    assert {flag for flag in JUDGING if f"  {flag}" not in shown} == set()


@pytest.fixture
def models(tmp_path):
    """Write a float model, the same in int8 with a channel that ruins a layer, inputs, and the metric of its task."""
    exact = low_precision.chain(8, 4, 1e4)
    onnx.save(exact, tmp_path / "float.onnx")
    onnx.save(low_precision.qdq(exact, tmp_path), tmp_path / "small.onnx")
    np.savez(tmp_path / "x.npz", **low_precision.feed())
    (tmp_path / "metric.py").write_text(METRIC)
    return ("small.onnx", "float.onnx", "-b", "onnxrt")


def test_layers_are_kept_until_the_metric_of_the_task_passes(polycmp, models):
    assert polycmp("run", *models, *TASK).status == 3  # rounding to int8 may change the answers
    assert polycmp("run", *models, *TASK, *EXACT).status == 1
    done = polycmp("locate", *models, *TASK, *EXACT, "--save-mixed", "mixed.onnx", *REPORT)
    assert done.status == 1, done.out + done.err
    assert "layers in float to meet the tolerance" in " ".join(done.out.split())
    kept = json.loads(Path("found.json").read_text())["kept"]
    assert 0 < len(kept) < 8
    assert polycmp("run", "mixed.onnx", "float.onnx", "-b", "onnxrt", *TASK, *EXACT).status == 0
    # By the numbers alone the same model would not be good enough.
    assert polycmp("run", "mixed.onnx", "float.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", *EXACT).status == 1


def test_a_ranking_alone_searches_nothing_and_names_the_layer_that_is_ruined(polycmp, models):
    done = polycmp("locate", *models, *TASK, *EXACT, "--rank", *REPORT)
    assert done.status == 1, done.out + done.err
    found = json.loads(Path("found.json").read_text())
    assert len(found["trials"]) == 1
    assert found["kept"] is None
    said = " ".join(done.out.split())
    assert "FOUND: " in said
    assert "is ruined: " in said
    assert f"next: polycmp locate {' '.join(models)}" in said
    assert "--save-mixed mixed.onnx" in said


@pytest.mark.parametrize("words", [("locate", "--save-mixed", "m.onnx"), ("debug", "precision", "-o", "m.onnx")])
def test_a_smaller_type_is_not_searched_with_the_tolerance_of_float32(polycmp, models, words):
    command = words[: 1 if words[0] == "locate" else 2]
    done = polycmp(*command, *models, "--load-inputs", "x.npz", *words[len(command) :])
    assert done.status == 2, done.out + done.err
    assert "what is good enough" in done.err
    assert not Path("m.onnx").exists()


def test_locate_judges_outputs_by_the_metric_and_tensors_by_themselves(polycmp, models):
    done = polycmp("locate", *models, *TASK, *REPORT)
    assert done.status in {1, 3}, done.out + done.err
    # A metric that both meet: what differs inside does not reach the answer.
    Path("metric.py").write_text(METRIC.replace('np.argmax(outputs["y"], axis=-1)', 'np.arange(len(outputs["y"]))'))
    done = polycmp("locate", *models, *TASK, *REPORT)
    assert (done.status, "NO FAULT" in done.out) == (0, True), done.out + done.err


def test_means_over_inputs_are_refused_where_one_input_is_looked_at(polycmp, models):
    for command in (("locate",), ("debug", "reduce")):
        done = polycmp(*command, *models, *TASK, "--check-average")
        assert done.status == 2, done.out + done.err
        assert "one input at a time" in done.err


def test_reducing_by_a_metric_leaves_the_outputs_where_they_are(polycmp, tmp_path):
    exact = low_precision.chain(6, 0, 1.0)
    onnx.save(exact, tmp_path / "float.onnx")
    wrong = onnx.ModelProto()
    wrong.CopyFrom(exact)
    weight = next(item for item in wrong.graph.initializer if len(item.dims) == 2)
    weight.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(weight), weight.name))
    onnx.save(wrong, tmp_path / "wrong.onnx")
    np.savez(tmp_path / "x.npz", **low_precision.feed())
    (tmp_path / "metric.py").write_text(METRIC)
    done = polycmp("debug", "reduce", "wrong.onnx", "float.onnx", "-b", "onnxrt", *TASK, "-o", "part.onnx")
    assert done.status == 0, done.out + done.err
    assert "the outputs stay as they are" in " ".join(done.out.split())
    assert [item.name for item in onnx.load("part.onnx").graph.output] == ["y"]


def test_the_boxes_of_the_page_on_mixed_precision_are_those_of_a_yolo_output():
    page = (Path(__file__).parents[2] / "docs" / "mixed-precision.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.search(r"```python\n(# boxes\.py\n.*?)```", page, re.DOTALL)[1], names)
    #            two boxes that overlap, one elsewhere, one with a low score
    centres = [[50, 50, 20, 20], [52, 50, 20, 20], [200, 100, 40, 10], [300, 300, 9, 9]]
    scores = [[0.6, 0.1], [0.9, 0.1], [0.1, 0.5], [0.2, 0.2]]
    output = np.concatenate([np.array(centres).T, np.array(scores).T])[None].astype(np.float32)
    boxes = names["postprocess_outputs"]({"output0": output})["boxes"]
    np.testing.assert_allclose(boxes, [[42, 40, 62, 60], [180, 95, 220, 105]])
