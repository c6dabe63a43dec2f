"""A file that asks for something else than the reference computed: no runtime is blamed for it."""

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


def test_a_file_that_asks_for_something_else_is_told_and_its_runtime_is_not_blamed(polycmp, record, tmp_path):
    """What converters of other frameworks get wrong is in the file: the backend computes what that says."""
    np.savez("device.npz", **record())
    words = ("--load-outputs", "device.npz", "--report", "r.json")
    done = polycmp("locate", "wrong.onnx", "-b", "onnxrt", *words)
    assert done.status == 1, done.out + done.err
    told = "cause: onnxrt computes what its file says (onnx in float64 computes the same): the file asks for something"
    assert told in " ".join(done.out.split())
    assert "computes what its file says, which is something else" in located(tmp_path)["sentence"]
    faulty = polycmp("locate", "right.onnx", "-b", "faulty:backend=onnxrt,fault=int32,at=/layer.1/scale/Mul", *words)
    assert faulty.status == 1, faulty.out + faulty.err
    assert "what its file says" not in faulty.out
    assert "it is wrong as well" in located(tmp_path)["sentence"]


def test_of_several_operators_that_compute_what_their_file_says_none_is_called_wrong(polycmp, tmp_path):
    """ncnn#4762: a picture was normalised otherwise for the run that was saved, which shows its outputs alone."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "V"], ["c"], name="first"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Conv", ["r", "W"], ["y"], name="second"),
    ]
    weights = [(name, random.standard_normal((4, 4, 3, 3)).astype("f")) for name in "VW"]
    ends = [("x", FLOAT, [1, 4, 6, 5])], [("y", FLOAT, [1, 4, 2, 1])]
    onnx.save(graph_model(nodes, *ends, weights), "net.onnx")
    x = random.uniform(0, 255, (1, 4, 6, 5)).astype(np.float32)
    np.savez("x.npz", x=x)
    np.savez("saved.npz", y=ort.InferenceSession("net.onnx").run(None, {"x": (x / 255 - 0.5) / 0.25})[0])
    words = ("--load-inputs", "x.npz", "--load-outputs", "saved.npz", "--report", "r.json")
    assert polycmp("locate", "net.onnx", "-b", "onnxrt", *words).status == 1
    sentence = located(tmp_path)["sentence"]
    assert sentence.startswith("another file or other inputs: onnxrt computes what its file says and makes another 'y'")
    told = "Conv 'first', Relu 'relu' and Conv 'second' is another one there, or saved was fed with other inputs"
    assert told in sentence
    assert polycmp("locate", "net.onnx", "-b", "faulty:backend=onnxrt,fault=shuffle,at=first", *words).status == 1
    assert "another file" not in located(tmp_path)["sentence"]
