"""Models that the tests serve."""

from __future__ import annotations

import threading

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(scale=1.0, names=("x", "y"), batch="batch"):
    """Return y = relu(x @ w) * scale, with 8 numbers in and 4 out for each row."""
    weights = np.random.default_rng(3).normal(size=(8, 4)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", [names[0], "w"], ["product"]),
        helper.make_node("Relu", ["product"], ["positive"]),
        helper.make_node("Mul", ["positive", "scale"], [names[1]]),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, size])
        for name, size in zip(names, (8, 4), strict=True)
    ]
    held = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.float32(scale), "scale")]
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save(path="m.onnx", **changes):
    onnx.save(network(**changes), path)
    return path


class Packed:
    """A server's dynamic batching: requests that come at about the same time run as one batch.

    Args:
        mix: Called with the outputs of a batch, and returns them as a fault would leave them.
        seconds: How long the first request of a batch waits for others.
    """

    def __init__(self, mix=lambda y: y, seconds=0.1):
        self.mix, self.seconds = mix, seconds
        self.lock, self.waiting, self.batches = threading.Lock(), [], []

    def __call__(self, run, feed):
        slot = {"feed": feed, "done": threading.Event()}
        with self.lock:
            first = not self.waiting
            self.waiting.append(slot)
        if first:
            threading.Event().wait(self.seconds)
            with self.lock:
                slots, self.waiting = self.waiting, []
            self.run(run, slots)
        slot["done"].wait(10)
        return slot["outputs"]

    def run(self, run, slots):
        rows = [len(slot["feed"]["x"]) for slot in slots]
        self.batches.append(sum(rows))
        y = self.mix(run({"x": np.concatenate([slot["feed"]["x"] for slot in slots])})["y"])
        for slot, part in zip(slots, np.split(y, np.cumsum(rows)[:-1]), strict=True):
            slot["outputs"] = {"y": part}
            slot["done"].set()
