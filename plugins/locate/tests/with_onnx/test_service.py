"""`polycmp compare` of two model files: whether they hold the same network, without a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper
from onnxruntime.transformers.float16 import convert_float_to_float16
from other_networks import network


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network(Path("old.onnx"))
    return Path("new.onnx"), Path("old.onnx")


def with_changed_weight(files, name: str, change) -> None:
    model = onnx.load(files[1])
    (weight,) = (item for item in model.graph.initializer if item.name == name)
    values = numpy_helper.to_array(weight).copy()
    change(values)
    weight.CopyFrom(numpy_helper.from_array(values, name))
    onnx.save(model, files[0])


def compare_files(polycmp, *words):
    done = polycmp("compare", *words)
    return done, " ".join(done.out.split())


def test_a_converted_file_holds_the_same_network(polycmp, files):
    onnx.save(convert_float_to_float16(onnx.load(files[1])), files[0])
    done, said = compare_files(polycmp, "new.onnx", "old.onnx", "--report", "r.json")
    assert (done.status, "PASSED: the same network, 17 of 17 constants compared" in said) == (0, True), said
    assert "a run shows: polycmp run new.onnx old.onnx" in said
    assert json.loads(Path("r.json").read_text())["compared"] == 17


def test_a_weight_that_no_tool_makes_is_named(polycmp, files):
    def one(values):
        values[0, 0] *= np.float32(1.003)

    with_changed_weight(files, "o.w", one)
    done, said = compare_files(polycmp, "new.onnx", "old.onnx")
    assert (done.status, "FAILED: another network: the constant 'o.w'" in said) == (1, True), said


def test_other_weights_are_told_as_such(polycmp, files):
    random, model = np.random.default_rng(1), onnx.load(files[1])
    for weight in model.graph.initializer:
        if len(weight.dims) and weight.data_type == 1:
            made = random.standard_normal(tuple(weight.dims)).astype(np.float32)
            weight.CopyFrom(numpy_helper.from_array(np.abs(made) + np.float32(0.1), weight.name))
    onnx.save(model, files[0])
    done, said = compare_files(polycmp, "new.onnx", "old.onnx")
    assert (done.status, "the files hold other weights, as after training again" in said) == (1, True), said


def test_an_output_that_is_gone_is_a_difference(polycmp, files):
    model = onnx.load(files[1])
    model.graph.output.append(helper.make_tensor_value_info("t", 1, None))
    onnx.save(model, "two.onnx")
    done, said = compare_files(polycmp, "old.onnx", "two.onnx")
    assert (done.status, "FAILED: another network: old.onnx has no output 't'" in said) == (1, True), said
    assert compare_files(polycmp, "two.onnx", "old.onnx")[0].status == 0


def test_what_has_no_counterpart_is_not_called_the_same(polycmp, files):
    """An optimiser joined operators: what is left can be compared, and is all right."""
    options = ort.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = "new.onnx", 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # beyond, processors differ
    ort.InferenceSession("old.onnx", options, providers=["CPUExecutionProvider"])
    done, said = compare_files(polycmp, "old.onnx", "new.onnx")
    assert (done.status, "UNDECIDED: nothing is wrong in what has a counterpart" in said) == (3, True), said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("old.onnx", "old.onnx", "old.onnx"), "3 model files given"),
        (("old.onnx", "o.npz"), "polycmp run old.onnx -b BACKEND --load-outputs o.npz"),
        (("old.onnx", "old.onnx", "--atol", "1"), "no option of comparing outputs has a meaning"),
    ],
    ids=["three", "outputs", "tolerance"],
)
def test_what_cannot_be_compared_so_is_wrong_usage(polycmp, files, words, said):
    np.savez("o.npz", y=np.zeros(3))
    done = polycmp("compare", *words)
    assert (done.status, said in " ".join(done.err.split())) == (2, True), done.err


def test_a_file_that_is_not_there_is_named(polycmp, files):
    done = polycmp("compare", "old.onnx", "gone.onnx")
    assert (done.status, "no such model file: gone.onnx" in done.err) == (3, True), done.err


def test_a_file_that_agrees_with_itself_shows_nothing(polycmp, files):
    done, said = compare_files(polycmp, "old.onnx", "old.onnx")
    assert (done.status, "that it agrees with itself shows nothing" in said) == (0, True), said
