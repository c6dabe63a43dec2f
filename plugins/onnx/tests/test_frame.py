"""What the commands over models share: a new file is whole and its weights lie as asked, or nothing is written."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_results import FLOAT
from small_models import graph_model
from surgeon_models import X, checked, same

from polycmp_onnx import save_onnx


def test_a_failed_conversion_leaves_the_old_file(polycmp, tmp_path):
    (tmp_path / "bad.onnx").write_text("no model")
    (tmp_path / "out.onnx").write_text("precious")
    assert polycmp("convert", "bad.onnx", "-o", "out.onnx").status == 3
    assert (tmp_path / "out.onnx").read_text() == "precious"


@pytest.mark.skipif(find_spec("polycmp_onnxrt") is None, reason="runs models with polycmp-onnxrt")
def test_weights_are_written_outside_and_old_files_replaced(polycmp, model, tmp_path):
    (tmp_path / "out.data").write_text("old")
    words = ("--save-external-data", "out.data", "--external-data-size-threshold", "16")
    assert polycmp("convert", model, "-o", "out.onnx", *words).status == 0
    (weight,) = onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    assert {item.key: item.value for item in weight.external_data}["location"] == "out.data"
    assert polycmp("run", "out.onnx", "-b", "onnxrt", "-b", f"onnxrt:model={model}").status == 0
    for elsewhere in ("out.onnx", "../out.data", str(tmp_path / "out.data")):
        assert polycmp("convert", model, "-o", "out.onnx", "--save-external-data", elsewhere).status == 2
    found = json.loads(polycmp("inspect", "model", "out.onnx", "--json").out)["initializers"]
    assert found[0]["external"]["location"] == "out.data"
    assert "1 of them outside the file, in out.data" in polycmp("inspect", "model", "out.onnx").out


def test_weights_outside_stay_outside(polycmp, chain, tmp_path):
    words = ("--save-external-data", "chain.data", "--external-data-size-threshold", "16")
    assert polycmp("convert", "model.onnx", "-o", "outside.onnx", *words).status == 0
    assert (tmp_path / "chain.data").stat().st_mode & 0o777 == (tmp_path / "outside.onnx").stat().st_mode & 0o777
    words = ("--cleanup", "--external-data-size-threshold", "16")
    assert polycmp("surgeon", "sanitize", "outside.onnx", "-o", "sub/out.onnx", *words).status == 0
    made = onnx.load(tmp_path / "sub" / "out.onnx", load_external_data=False)
    assert onnx.external_data_helper.uses_external_data(made.graph.initializer[0])
    same(chain, checked(tmp_path / "sub" / "out.onnx"), X)


def test_a_model_may_be_replaced_by_what_becomes_of_it(polycmp, chain, tmp_path):
    assert polycmp("surgeon", "sanitize", "model.onnx", "--cleanup", "-o", "model.onnx").status == 0
    same(chain, checked(tmp_path / "model.onnx"), X)


def test_weights_of_the_original_are_not_written_over(polycmp):
    model = graph_model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", FLOAT, [64])],
        [("y", FLOAT, [64])],
        [("w", np.arange(64, dtype=np.float32))],
    )
    save_onnx(model, "model.onnx", "weights.bin", size_threshold=0)
    before = Path("weights.bin").read_bytes()
    for command in (("convert", "model.onnx", "--fp-to-fp16"), ("surgeon", "sanitize", "model.onnx")):
        done = polycmp(*command, "-o", "out.onnx", "--save-external-data", "weights.bin")
        assert (done.status, "would be lost" in done.err) == (2, True)
    assert Path("weights.bin").read_bytes() == before and not Path("out.onnx").exists()


def test_a_change_that_makes_an_invalid_model_writes_nothing(polycmp, chain, tmp_path):
    words = ("--op", "Relu", "--inputs", "m", "--outputs", "r", "--attrs", "nonsense=1")
    done = polycmp("surgeon", "insert", "model.onnx", *words, "-o", "out.onnx")
    assert (done.status, "checker refuses" in done.err) == (3, True)
    assert not (tmp_path / "out.onnx").exists()
