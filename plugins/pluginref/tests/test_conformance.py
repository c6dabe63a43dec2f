"""The contract that polycmp asks of every runner: the first test that a backend should have."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from polycmp.testing import RunnerContract
from polycmp_pluginref import PluginRefRunner


class TestPluginRefRunner(RunnerContract):
    """One plugin operator that can refuse a shape, and one that gives the input as it is."""

    capabilities = ("dynamic_shapes", "failing_inference")

    def load(self):
        nodes = [
            helper.make_node("Reorg_TRT", ["x"], ["y"], stride=2),
            helper.make_node("Identity", ["x"], ["same"]),
            helper.make_node("Identity", ["y"], ["again"]),
        ]
        x, y, same, again = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, "h", "w"])
            for name in ("x", "y", "same", "again")
        )
        graph = helper.make_graph(nodes, "g", [x], [y, same, again])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])

    def make_runner(self, load):
        return PluginRefRunner(load, name="pluginref")

    def feeds(self):
        return [feed((1, 4, 2, 2), 0), feed((1, 4, 2, 2), 100)]

    def other_shapes(self):
        return feed((3, 4, 6, 2), 7)

    def failing_feed(self):
        return feed((1, 4, 3, 2), 0)

    def expected(self, feed):
        """Element by element, as darknet describes the operator."""
        x = feed["x"]
        n, c, h, w = x.shape
        y = np.empty((n, c, h, w), x.dtype)
        wide = x.reshape(n, 1, h * 2, w * 2)
        for image, channel, row, column in np.ndindex(y.shape):
            y[image, channel, row, column] = wide[image, 0, row * 2 + channel // 2, column * 2 + channel % 2]
        y = y.reshape(n, c * 4, h // 2, w // 2)
        return {"y": y, "same": x, "again": y}


def feed(shape, start):
    return {"x": np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)}
