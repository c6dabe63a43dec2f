"""Files whose channels between two convolutions were multiplied by factors, as weight equalisation does."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_models import graph_model

FLOAT = TensorProto.FLOAT
ONES = np.ones(8, np.float32)
FACTORS = np.exp(np.linspace(-1.5, 1.5, 8)).astype(np.float32)


def equalised(path, *, factors=ONES, times=1.0, undone=True):
    """conv1 -> Relu -> conv2 -> y; channels between the two are multiplied by factors, which conv2 undoes."""
    random = np.random.default_rng(0)
    first, bias = random.standard_normal((8, 3, 3, 3)), random.standard_normal(8)
    second = times * random.standard_normal((5, 8, 3, 3))
    factors = factors.astype(np.float64)
    shaped = factors[:, None, None, None]
    undoing = 1.0 / factors if undone else np.ones(8)
    weights = {
        "w1": first * shaped,
        "b1": bias * factors,
        "w2": second * undoing[None, :, None, None],
        "b2": random.standard_normal(5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1"),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["y"], name="conv2"),
    ]
    held = [(name, array.astype(np.float32)) for name, array in weights.items()]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, 3, 8, 8])], [("y", FLOAT, [1, 5, 4, 4])], held), path)
    return path
