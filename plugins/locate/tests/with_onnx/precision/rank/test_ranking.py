"""`locate --rank` and `debug precision` on backends: which layers are worth keeping in float."""

from __future__ import annotations

import json
from pathlib import Path

import low_precision_models as low_precision
import onnx
import pytest
from in_parts import a_few

REPORT = ("--report", "found.json", "--report", "found.html")
LAYERS = 40


def found() -> dict:
    return json.loads(Path("found.json").read_text())


def meets_the_tolerance(polycmp, atol):
    backends = ("-b", "onnxrt", "-b", "onnxrt:model=float.onnx")
    return (
        polycmp("run", "mixed.onnx", *backends, "--load-inputs", "x.npz", "--atol", atol, "--allow-blind").status == 0
    )


def layer(name):
    return next(item for item in found()["layers"] if item["name"] == name)


def test_float16_keeps_only_layers_at_the_outlier_and_takes_few_runs(polycmp, models):
    words = models(low_precision.float16, 1e6)
    done = polycmp("locate", *words, "--atol", "1e-2", "--save-mixed", "mixed.onnx", *REPORT)
    assert done.status == 1, done.out + done.err
    report = found()
    assert set(report["kept"]) <= {"matmul20", "add20", "matmul21"}
    assert report["kept"]
    assert report["fewest"]
    assert report["runs"]["search"] <= len(report["layers"]) / 10
    assert len(report["layers"]) == 3 * LAYERS - 1
    assert layer("matmul21")["own_snr_db"] == "-inf"
    assert layer("matmul21")["types"][0]["saturated"] > 0
    assert "beyond float16" in layer("matmul21")["reason"]
    assert "channel 3 of its input" in layer("matmul21")["reason"]
    assert meets_the_tolerance(polycmp, "1e-2")
    assert "matmul21" in Path("found.html").read_text()


@pytest.mark.parametrize("reduce", a_few([low_precision.dynamic, low_precision.qdq]), ids=lambda kind: kind.__name__)
def test_int8_keeps_what_an_outlier_ruins(polycmp, models, reduce):
    words = models(reduce, 1e4, layers=8, outlier=4)
    assert polycmp("run", *words, "--atol", "0.3", "--allow-blind").status == 1
    done = polycmp("locate", *words, "--atol", "0.3", "--allow-blind", "--save-mixed", "mixed.onnx", *REPORT)
    assert done.status == 1, done.out + done.err
    assert set(found()["kept"]) <= {"matmul4", "add4", "matmul5", "tanh5", "add5"}
    assert found()["kept"]
    worst = layer("matmul5")
    assert worst["own_snr_db"] < min(item["own_snr_db"] for item in found()["layers"] if item["name"][-1] in "12")
    assert "becomes zero in" in worst["reason"]
    assert "int8" in worst["reason"]
    assert meets_the_tolerance(polycmp, "0.3")


def test_int8_takes_at_most_a_tenth_of_the_runs_of_trying_layers_one_by_one(polycmp, models):
    words = models(low_precision.dynamic, 1e4, outlier=36)
    done = polycmp("locate", *words, "--atol", "0.1", "--allow-blind", "--save-mixed", "mixed.onnx", *REPORT)
    assert done.status == 1, done.out + done.err
    report = found()
    assert report["kept"] == ["matmul36", "matmul37"]
    assert report["fewest"]
    assert report["runs"]["search"] <= (len(report["layers"]) + 1) / 10
    assert meets_the_tolerance(polycmp, "0.1")
    assert layer("matmul37")["accumulated_snr_db"] < layer("matmul1")["accumulated_snr_db"]


def test_weights_of_4_bits_are_ranked(polycmp, models):
    words = models(low_precision.int4, 1.0, layers=6, outlier=0)
    assert polycmp("locate", *words, "--atol", "0.02", "--save-mixed", "mixed.onnx", *REPORT).status == 1
    kept = found()["kept"]
    assert kept
    assert {item["op_type"] for item in found()["layers"]} == {"MatMul"}
    operators = [node.op_type for node in onnx.load("mixed.onnx").graph.node]
    assert operators.count("MatMulNBits") == 6 - len(kept)
    assert meets_the_tolerance(polycmp, "0.02")


def test_a_reduced_model_that_is_good_enough_has_nothing_to_keep(polycmp, models):
    words = models(low_precision.float16, 1.0, layers=4, outlier=0)
    done = polycmp("locate", *words, "--rank", "--atol", "1e-1", "--allow-blind", "--save-mixed", "mixed.onnx", *REPORT)
    assert (done.status, "PASSED: " in done.out) == (0, True), done.out + done.err
    assert found()["kept"] == []
    assert onnx.load("mixed.onnx") == onnx.load("small.onnx")


def test_what_no_layer_can_mend_is_said_and_nothing_is_written(polycmp, models):
    """Even in float, two backends round in other places."""
    models(low_precision.float16, 1.0, layers=4, outlier=0)
    words = ("-b", "onnxrt:model=small.onnx", "-b", "onnx", "--load-inputs", "x.npz", "--atol", "1e-15")
    words = (*words, "--rtol", "1e-15", "--save-mixed", "mixed.onnx", *REPORT)
    done = polycmp("locate", "float.onnx", *words)
    assert (done.status, "FAILED" in done.out) == (1, True), done.out + done.err
    assert "mixed.onnx was not written" in " ".join(done.out.split())
    assert found()["kept"] is None
    assert not Path("mixed.onnx").exists()


def test_a_reduced_model_with_other_names_inside_is_paired(polycmp, models):
    words = models(low_precision.float16, 1e6, layers=8, outlier=4)
    renamed("small.onnx", lambda name: f"z_{name}")
    done = polycmp("locate", *words, "--atol", "1e-2", "--save-mixed", "mixed.onnx", *REPORT)
    assert done.status == 1, done.out + done.err
    assert set(found()["kept"]) <= {"matmul4", "add4", "matmul5"}
    assert meets_the_tolerance(polycmp, "1e-2")


def renamed(path, new):
    """Give all tensors inside a model other names."""
    model = onnx.load(path)
    for node in model.graph.node:
        for field in (node.input, node.output):
            field[:] = [name if name in "xy" else new(name) for name in field]
    for item in model.graph.initializer:
        item.name = new(item.name)
    del model.graph.value_info[:]
    onnx.save(model, path)


def test_a_search_that_may_not_go_on_says_so_and_keeps_what_passed(polycmp, models):
    words = models(low_precision.dynamic, 1e4, layers=8, outlier=4)
    needed = polycmp("locate", *words, "--atol", "0.3", "--allow-blind", "--save-mixed", "all.onnx", *REPORT)
    assert needed.status == 1, needed.out + needed.err
    runs = len(found()["trials"])
    words = (*words, "--atol", "0.3", "--allow-blind", "--max-runs", 2, "--save-mixed", "mixed.onnx", *REPORT)
    done = polycmp("locate", *words)
    assert done.status == 1, done.out + done.err
    assert not found()["fewest"] or runs <= 2
    assert Path("mixed.onnx").exists() == (found()["kept"] is not None)
    assert found()["kept"] is None or meets_the_tolerance(polycmp, "0.3")
