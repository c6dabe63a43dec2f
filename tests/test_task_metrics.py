"""Compare functions for what a model is for, over a data set that a script gives: means, and the worst sample."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

DATA = """
import numpy as np

def load_data():
    for number in range(4):
        x = np.zeros((1, 3), np.float32)
        x[0, number % 3] = 1.0
        yield {"x": x}
"""


def classifier(weights) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["y"])],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
        [numpy_helper.from_array(np.asarray(weights, np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def models(tmp_path):
    """Two classifiers that disagree on the third class alone."""
    onnx.save(classifier([[3, 0, 0], [0, 3, 0], [0, 0, 3]]), tmp_path / "old.onnx")
    onnx.save(classifier([[5, 0, 0], [0, 5, 0], [4, 0, 3]]), tmp_path / "new.onnx")
    (tmp_path / "data.py").write_text(DATA)
    return ["run", "new.onnx", "-b", "onnxrt", "-b", "onnxrt:model=old.onnx", "--data-loader-script", "data.py"]


def test_the_mean_over_a_data_set_is_judged_and_the_worst_sample_named(polycmp, models, tmp_path):
    words = [*models, "--compare", "topk_agreement", "--report", "r.json"]
    done = polycmp(*words)
    assert done.status == 1, done.err
    output = done.report(tmp_path / "r.json")["comparison_results"][0]["outputs"]["y"]
    assert (output["failed_iterations"], output["worst_iteration"]) == (1, 2)
    done = polycmp(*words, "--check-average", "--topk-agreement-threshold", "0.7")
    assert done.status == 0, done.out
    metrics = json.loads((tmp_path / "r.json").read_text())["comparison_results"][0]["outputs"]["y"]["metrics"]
    assert metrics["agreement"] == pytest.approx(0.75)
    assert polycmp(*words, "--check-average", "--topk-agreement-threshold", "0.8").status == 1


def test_a_divergence_that_is_allowed_passes_although_the_numbers_differ(polycmp, models):
    assert polycmp(*models, "--compare", "kl_divergence").status == 1
    words = (*models, "--compare", "kl_divergence", "--check-average", "--kl-divergence-threshold", "2")
    done = polycmp(*words, "--allow-blind")
    assert done.status == 0, done.out
    done = polycmp(*words)
    assert (done.status, "everywhere in place of 'y' would have passed" in done.out) == (3, True)


def test_boxes_in_another_order_are_the_same(polycmp, tmp_path):
    boxes = np.array([[0, 0, 10, 10], [20, 20, 30, 40]], np.float32)

    def detector(array):
        graph = helper.make_graph(
            [
                helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(array)),
                helper.make_node("Add", ["c", "x"], ["boxes"]),
            ],
            "detector",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
            [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["n", 4])],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    onnx.save(detector(boxes), tmp_path / "old.onnx")
    onnx.save(detector(boxes[::-1].copy()), tmp_path / "new.onnx")
    onnx.save(detector(boxes * np.array([[1], [0]], np.float32)), tmp_path / "fewer.onnx")
    words = ["run", "-b", "onnxrt:model=new.onnx", "-b", "onnxrt:model=old.onnx"]
    assert polycmp(*words).status == 1
    assert polycmp(*words, "--compare", "iou_match").status == 0
    done = polycmp("run", "fewer.onnx", "-b", "onnxrt", "-b", "onnxrt:model=old.onnx", "--compare", "iou_match")
    assert done.status == 1
    assert "0.6667 of the boxes overlap by 0.9 or more, and 1 must" in " ".join(done.out.split())


def detector(boxes, scores) -> onnx.ModelProto:
    """Return a detector with the operator that real ones end with: it keeps as many boxes as it finds good."""
    constants = {
        "boxes_in": np.asarray(boxes, np.float32)[None],
        "scores_in": np.asarray(scores, np.float32)[None, None],
        "most": np.array([10], np.int64),
        "overlap": np.array([0.5], np.float32),
        "least": np.array([0.3], np.float32),
        "last": np.array([2], np.int64),
    }
    nodes = [
        helper.make_node("Add", ["scores_in", "x"], ["scores"]),
        helper.make_node("NonMaxSuppression", ["boxes_in", "scores", "most", "overlap", "least"], ["kept"]),
        helper.make_node("Gather", ["kept", "last"], ["column"], axis=1),
        helper.make_node("Squeeze", ["column", "one"], ["index"]),
        helper.make_node("Squeeze", ["boxes_in", "zero"], ["flat"]),
        helper.make_node("Gather", ["flat", "index"], ["boxes"]),
    ]
    constants |= {"one": np.array([1], np.int64), "zero": np.array([0], np.int64)}
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


DATA_OF_DETECTORS = """
import numpy as np

def load_data():
    yield {"x": np.zeros(1, np.float32)}
"""
BOXES = [[0, 0, 10, 10], [20, 20, 30, 40], [50, 50, 60, 60]]


def detectors(tmp_path):
    """Write a detector that finds all three boxes, and one that finds the first two, in another order."""
    (tmp_path / "data.py").write_text(DATA_OF_DETECTORS)
    onnx.save(detector(BOXES, [0.9, 0.8, 0.7]), tmp_path / "old.onnx")
    onnx.save(detector(BOXES, [0.8, 0.9, 0.1]), tmp_path / "new.onnx")
    onnx.save(detector(BOXES, [0.1, 0.1, 0.1]), tmp_path / "none.onnx")
    return ["-b", "onnxrt:model=old.onnx", "--data-loader-script", "data.py", "--compare", "iou_match"]


def test_a_side_that_finds_fewer_boxes_misses_some_and_does_not_differ_in_shape(polycmp, tmp_path):
    words = detectors(tmp_path)
    done = polycmp("run", "new.onnx", "-b", "onnxrt", *words, "--report", "r.json")
    assert done.status == 1, done.err
    output = done.report(tmp_path / "r.json")["comparison_results"][0]["outputs"]["boxes"]
    # Two of two found, two of three expected: four of five have a partner.
    assert output["metrics"]["matched"] == pytest.approx(0.8)
    assert "the reference's box 2 of image 0 has no partner" in " ".join(done.out.split())
    assert polycmp("run", "new.onnx", "-b", "onnxrt", *words, "--iou-match-threshold", "0.75").status == 0


def test_no_box_at_all_is_a_miss_of_each(polycmp, tmp_path):
    words = detectors(tmp_path)
    done = polycmp("run", "none.onnx", "-b", "onnxrt", *words, "--report", "r.json")
    assert done.status == 1, done.err
    assert done.report(tmp_path / "r.json")["comparison_results"][0]["outputs"]["boxes"]["metrics"]["matched"] == 0.0


def test_what_judges_element_by_element_still_differs_in_shape(polycmp, tmp_path):
    words = detectors(tmp_path)
    done = polycmp("run", "new.onnx", "-b", "onnxrt", *words, "simple")
    assert done.status == 1, done.err
    assert "shape [2,4] instead of [3,4]" in " ".join(done.out.split())


def test_the_comparator_of_programs_matches_any_number_of_boxes(polycmp, tmp_path):
    from polycmp.builtin.functions.metric_options import IouMatchOptions
    from polycmp.builtin.functions.metrics import IouMatch
    from polycmp.comparator import Comparator, IterationResult, RunResults

    runs = RunResults()
    for name, count in (("new", 2), ("old", 3)):
        runs.append((name, [IterationResult({"boxes": np.asarray(BOXES[:count], np.float32)})]))
    found = Comparator.compare_accuracy(runs, compare_func=IouMatch(IouMatchOptions()))
    [judged] = found["new", "old"]
    assert judged["boxes"].verdicts["iou_match"].metrics["matched"] == pytest.approx(0.8)


def test_a_mean_names_the_worst_samples(polycmp, models, tmp_path):
    words = [*models, "--compare", "topk_agreement", "kl_divergence", "--check-average", "--report", "r.json"]
    done = polycmp(*words, "--topk-agreement-threshold", "0.7", "--kl-divergence-threshold", "9")
    assert done.status == 0, done.out
    reason = done.report(tmp_path / "r.json")["comparison_results"][0]["outputs"]["y"]["reason"]
    assert "worst: topk_agreement: iteration 2 (agreement 0), iteration 0 (agreement 1)" in reason
    assert "kl_divergence: iteration 2 (mean " in reason
    done = polycmp(*words)
    assert done.status == 1
    assert "topk_agreement: iteration 2 (agreement 0)" in " ".join(done.out.split())


def test_samples_that_are_all_alike_have_no_worst(polycmp, models):
    words = ["run", "old.onnx", *models[2:], "--compare", "topk_agreement", "--check-average"]
    done = polycmp(*words)
    assert done.status == 0, done.out
    assert "worst" not in done.out


OWN = """
import numpy as np
from polycmp.spec import Verdict

class SameClass:
    larger_is_better = True

    def __call__(self, candidate, reference, *, output):
        same = np.argmax(candidate, -1) == np.argmax(reference, -1)
        return self.judge_metrics({"same": float(same.mean())}, output=output)

    def judge_metrics(self, metrics, *, output):
        passed = metrics["same"] >= 0.7
        return Verdict(passed, "" if passed else f"{metrics['same']:.0%} keep their class", metrics)

def alone(candidate, reference, *, output):
    return Verdict(True, "", {"same": 1.0})

def together(candidate, reference):
    return {name: True for name in candidate}
"""


def test_the_means_of_a_script_s_own_metrics_are_judged(polycmp, models, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    words = [*models, "--compare-func-script", "own.py:SameClass", "--report", "r.json"]
    assert polycmp(*words).status == 1  # the third sample is in another class
    done = polycmp(*words, "--check-average")
    assert done.status == 0, done.out
    output = done.report(tmp_path / "r.json")["comparison_results"][0]["outputs"]["y"]
    assert output["metrics"]["same"] == pytest.approx(0.75)
    assert "worst: iteration 2 (same 0), iteration 0 (same 1)" in output["reason"]


@pytest.mark.parametrize("name", ["alone", "together"])
def test_a_script_that_cannot_judge_means_is_told_what_it_lacks(polycmp, models, tmp_path, name):
    (tmp_path / "own.py").write_text(OWN)
    done = polycmp(*models, "--compare-func-script", f"own.py:{name}", "--check-average")
    assert done.status == 2
    assert "judge_metrics(metrics, *, output)" in done.err
