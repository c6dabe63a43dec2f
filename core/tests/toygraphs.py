"""Graphs of a few operators, with the values of weights and the types of tensors."""

from __future__ import annotations

import numpy as np

from polycmp.graph import GraphNode, ModelGraph
from polycmp.tensors import TensorMetadata

FEED = {"x": np.ones((1, 4), np.float32)}
SCALE = np.float32(0.25)


class Graph(ModelGraph):
    """A graph as a loader makes it: operators, weights with values, and the types of tensors."""

    def __init__(self, *nodes, weights=None, types=None, shape=(1, 4)):
        self._nodes, self._weights, self._types, self._shape = nodes, weights or {}, types or {}, shape

    @property
    def inputs(self):
        return TensorMetadata.from_feed_dict(FEED)

    @property
    def outputs(self):
        return self._nodes[-1].outputs

    @property
    def nodes(self):
        return self._nodes

    @property
    def weights(self):
        return {name: value.nbytes for name, value in self._weights.items()}

    def values(self, names):
        return {name: self._weights[name] for name in names if name in self._weights}

    def types(self, inputs):
        made = {name: "float32" for node in self._nodes for name in node.outputs} | self._types
        known = TensorMetadata(inputs)
        for name, dtype in made.items():
            known.add(name, dtype, self._shape)
        return known

    def cut(self, inputs, outputs):
        raise NotImplementedError


def node(op, reads, makes, **attributes):
    return GraphNode(op, "", attributes.pop("domain", ""), tuple(reads.split()), tuple(makes.split()), attributes)


QUANTISED = Graph(
    node("QuantizeLinear", "x scale zero", "codes"),
    node("DequantizeLinear", "codes scale zero", "back"),
    node("MatMul", "back w", "y"),
    weights={"scale": SCALE, "zero": np.uint8(128), "w": np.ones((4, 4), np.float32)},
    types={"codes": "uint8"},
)
PLAIN = Graph(node("MatMul", "x w", "y"), weights={"w": np.ones((4, 4), np.float32)})
