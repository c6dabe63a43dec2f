"""Models that several test modules build engines of."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pytest


def pytest_collection_modifyitems(config, items):
    """Skip what needs a device where TensorRT is not installed, unless it was asked for by `-m gpu`."""
    if find_spec("tensorrt") is None and config.option.markexpr != "gpu":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs TensorRT and a CUDA device: make test-gpu"))


def _weight(rng, name, *shape):
    from onnx import numpy_helper

    return numpy_helper.from_array((rng.standard_normal(shape) / 24).astype(np.float32), name)


def _convolutions(batch):
    from onnx import TensorProto, helper

    rng = np.random.default_rng(5)
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], name="conv0", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
        helper.make_node("Conv", ["r0", "w1", "b1"], ["y"], name="conv1", pads=[1, 1, 1, 1]),
    ]
    shape = [batch, 64, 32, 32]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [_weight(rng, f"w{i}", 64, 64, 3, 3) for i in (0, 1)] + [_weight(rng, f"b{i}", 64) for i in (0, 1)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def convolutions(tmp_path_factory):
    """A file with two convolutions of 2x64x32x32, large enough for narrow types to pay."""
    import onnx

    path = tmp_path_factory.mktemp("models") / "conv.onnx"
    onnx.save(_convolutions(2), path)
    return str(path)


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory):
    """The same with a batch of any size."""
    import onnx

    path = tmp_path_factory.mktemp("models") / "dynamic.onnx"
    onnx.save(_convolutions("n"), path)
    return str(path)


@pytest.fixture(scope="module")
def batch_plan():
    """The bytes of an engine of y = 2x + 1 and z = x with two profiles."""
    from engines import affine, batches, plan_of

    return plan_of(affine(), profiles=batches())


@pytest.fixture
def call(capsys, tmp_path):
    """A function that runs a command and returns its exit status, its output and its report."""

    from polycmp.cli.main import main

    def command(*words):
        path = tmp_path / "report.json"
        status = main([*(str(word) for word in words), "--report", str(path)])
        shown = capsys.readouterr()
        text = shown.out + shown.err
        assert "Traceback" not in text
        return status, text, json.loads(path.read_text("utf-8")) if path.exists() else None

    return command
