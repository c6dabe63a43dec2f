"""Small models, their TensorRT engines, and runners for them; building needs a device."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp_trt import (
    CreateConfig,
    EngineFromBytes,
    EngineFromNetwork,
    NetworkFromOnnxBytes,
    Profile,
    TrtRunner,
    bytes_from_engine,
)


def model(nodes, inputs, outputs, weights=(), opset=13):
    """Return a serialised model; inputs and outputs are (name, type, shape), weights (name, array)."""
    return graph_model(nodes, inputs, outputs, weights, opset).SerializeToString()


def identity(shape=(1, 1, 2, 2), dtype=TensorProto.FLOAT):
    """Return a model whose `y` is `x`."""
    return model([helper.make_node("Identity", ["x"], ["y"])], [("x", dtype, shape)], [("y", dtype, shape)])


def affine():
    """Return a model with y = 2x + 1 and z = x, the batch free."""
    return model(
        [
            helper.make_node("Mul", ["x", "two"], ["t"]),
            helper.make_node("Add", ["t", "one"], ["y"]),
            helper.make_node("Identity", ["x"], ["z"]),
        ],
        [("x", TensorProto.FLOAT, ["n", 3])],
        [("y", TensorProto.FLOAT, ["n", 3]), ("z", TensorProto.FLOAT, ["n", 3])],
        [("two", np.float32([2.0])), ("one", np.float32([1.0]))],
    )


def batches():
    """Return two profiles for `affine`: up to 8 rows, and from 16 to 32."""
    return [Profile().add("x", min=(1, 3), opt=(4, 3), max=(8, 3)), Profile().add("x", (16, 3), (16, 3), (32, 3))]


def runner_of(plan, **kwargs):
    """Return a runner for the bytes of an engine."""
    return TrtRunner(EngineFromBytes(plan), **kwargs)


def plan_of(content, **config):
    """Return the bytes of an engine built from a serialised model."""
    return bytes_from_engine(EngineFromNetwork(NetworkFromOnnxBytes(content), CreateConfig(**config)))
