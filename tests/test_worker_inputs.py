"""What makes the inputs stays with the session: an old environment need not have the plugins that do."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def model(tmp_path):
    """A model of one operator, and an interpreter that finds ONNX Runtime's plugin alone."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "relu",
        [value("x", TensorProto.FLOAT, [2, 3])],
        [value("y", TensorProto.FLOAT, [2, 3])],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPOLYCMP_PLUGINS=onnx,onnxrt,workers exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return path, python


@pytest.mark.parametrize("how", ["stress", "file"])
def test_a_worker_without_the_plugin_that_makes_the_inputs(model, how, tmp_path):
    from polycmp.cli.main import main

    path, python = model
    np.savez(tmp_path / "x.npz", x=np.full((2, 3), -1, np.float32))
    inputs = {
        "stress": ["--data-loader", "stress", "--stress-seeds", "1"],
        "file": ["--load-inputs", str(tmp_path / "x.npz")],
    }[how]
    report = tmp_path / "report.json"
    backends = ["-b", f"onnxrt:name=old,python={python}", "-b", "onnxrt"]
    status = main(["run", str(path), *backends, *inputs, "--report", str(report)])
    found = json.loads(report.read_text())["inference_results"]["old"]
    assert status == 0, found
    assert found["iterations"] >= 1
