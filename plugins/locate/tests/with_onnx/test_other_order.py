"""Inputs in another order: channels last where a file has them first."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda x: x.reshape(2, 5, 4, 3).transpose(0, 3, 1, 2), "x.reshape(2, 5, 4, 3).transpose(0, 3, 1, 2)"),
        (lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape), "x.transpose(0, 2, 1, 3).reshape(2, 3, 5, 4)"),
        (lambda x: x[:, ::-1], "np.flip(x, 1)"),
        (np.round, ""),
    ],
)
def test_a_picture_in_another_order_is_told(polycmp, tmp_path, order, words):
    """tensorflow-onnx#993: pictures with channels last were reshaped for a file that has them first."""
    random = np.random.default_rng(0)
    nodes = [helper.make_node("Conv", ["x", "W"], ["c"]), helper.make_node("Relu", ["c"], ["y"])]
    weights = [("W", random.standard_normal((4, 3, 3, 3)).astype("f"))]
    onnx.save(graph_model(nodes, [("x", FLOAT, [2, 3, 5, 4])], [("y", FLOAT, [2, 4, 3, 2])], weights), "net.onnx")
    x = random.standard_normal((2, 3, 5, 4)).astype(np.float32)
    meant = np.ascontiguousarray(order(x))
    np.savez("x.npz", x=x)
    np.savez("keras.npz", y=ort.InferenceSession("net.onnx").run(None, {"x": meant})[0])
    done = polycmp("locate", "net.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "keras.npz")
    assert done.status == (0 if words else 1), done.out
    assert words in " ".join(done.out.split())
    assert ("NO FAULT: other inputs" in done.out) == bool(words)


def test_a_sequence_that_was_read_as_it_lies_in_memory_is_told(polycmp, tmp_path):
    """ncnn#4874: a view of an array with time first was handed over as if its numbers lay in a row."""
    random = np.random.default_rng(0)
    onnx.save(
        graph_model(
            [helper.make_node("MatMul", ["x", "W"], ["y"])],
            [("x", FLOAT, [4, 6])],
            [("y", FLOAT, [4, 3])],
            [("W", random.standard_normal((6, 3)).astype("f"))],
        ),
        "net.onnx",
    )
    base = random.standard_normal((6, 4)).astype(np.float32)
    np.savez("x.npz", x=np.ascontiguousarray(base.T))
    np.savez("saved.npz", y=ort.InferenceSession("net.onnx").run(None, {"x": base.reshape(4, 6)})[0])
    done = polycmp("locate", "net.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "saved.npz")
    assert (done.status, "x.transpose(1, 0).reshape(4, 6)" in " ".join(done.out.split())) == (0, True), done.out
