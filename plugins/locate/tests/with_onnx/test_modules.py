"""Records of hooks on modules: a module's output is the tensor that its last operator makes."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT


def layered(scale=2.0):
    """x -> two layers of module names; the second one's scale is what a wrong export has another of."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "W0"], ["proj"], name="/layer.0/dense/MatMul"),
        helper.make_node("Relu", ["proj"], ["act"], name="/layer.0/act/Relu"),
        helper.make_node("MatMul", ["act", "W1"], ["mixed"], name="/layer.1/dense/MatMul"),
        helper.make_node("Mul", ["mixed", "scale"], ["scaled"], name="/layer.1/scale/Mul"),
        helper.make_node("Add", ["scaled", "x"], ["y"], name="/layer.1/Add"),
    ]
    weights = [("W0", random.standard_normal((8, 8)).astype("f")), ("W1", random.standard_normal((8, 8)).astype("f"))]
    weights.append(("scale", np.array([scale], "f")))
    return graph_model(nodes, [("x", FLOAT, ["n", 8])], [("y", FLOAT, ["n", 8])], weights)


@pytest.fixture
def record(tmp_path):
    """The right model's tensors, as a device would have left them; the model here has a wrong scale."""
    onnx.save(layered(), tmp_path / "right.onnx")
    onnx.save(layered(scale=2.5), tmp_path / "wrong.onnx")
    model = layered()
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("proj", "act", "mixed", "scaled"))
    session = ort.InferenceSession(model.SerializeToString())

    def tensors(seed=0):
        x = np.random.default_rng(seed).standard_normal((3, 8)).astype(np.float32)
        made = session.run(None, {"x": x})
        return {"x": x, **{item.name: array for item, array in zip(session.get_outputs(), made, strict=True)}}

    return tensors


def located(tmp_path):
    return json.loads((tmp_path / "r.json").read_text())


def test_outputs_of_modules_that_hooks_recorded_are_matched(polycmp, record, tmp_path):
    made = record()
    names = {"layer.0.dense": "proj", "layer.0": "act", "layer.1.dense": "mixed", "layer.1.scale": "scaled"}
    np.savez("hooks.npz", x=made["x"], **{name: made[tensor] for name, tensor in names.items()})
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", "--load-outputs", "hooks.npz", "--report", "r.json")
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert [row["tensor"] for row in found["tensors"]] == ["proj", "act", "mixed", "scaled"]
    assert found["first_bad"] == "scaled"
    assert "4 by module" in " ".join(done.out.split())
