"""Two models walked side by side: names of pairs, types of each model, codes for numbers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from polycmp.graph import GraphNode
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_locate.pairing.side import ModelSide
from polycmp_locate.pairing.view import SharedGraph, SharedPart, SharedRunner, behind, declared_graph, file_graph
from polycmp_onnx import OnnxGraph

#: Under the names of pairs, `x` is `x0`, `codes` is `q`, `h` is `r0`, `kept` is `k` and `y` is `out`.
MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float16[2] x0) => (float16[2] out) <float16 s = {0.5}, uint8 z = {3}, float16 w = {2}>
{
    q = QuantizeLinear (x0, s, z)
    d = DequantizeLinear (q, s, z)
    r0 = Relu (d)
    k = Mul (r0, w)
    out = Neg (k)
}
"""
NAMES = {"x": "x0", "codes": "q", "h": "r0", "kept": "k", "y": "out", "weight": "w"}


@pytest.fixture(scope="module")
def graph():
    model = onnx.parser.parse_model(MODEL.replace("float16 s", "float s").replace("float16", "float"))
    fed = TensorMetadata()
    fed.add("x0", np.float32, (2,))
    side = ModelSide(OnnxGraph(model), fed)
    inputs = TensorMetadata()
    inputs.add("x", np.float32, (2,))
    inputs.add("other", np.float32, (3,))  # which only the other model has
    return SharedGraph(side, [GraphNode("Op", "n")], NAMES, ("y",), inputs)


def test_types_have_the_names_of_pairs_and_codes_the_type_of_numbers(graph):
    types = graph.types(graph.inputs)
    assert (types["codes"].dtype, types["codes"].shape) == (np.float32, (2,))
    assert "other" not in types
    assert graph.finals == {"y"}


def test_weights_are_known_by_the_names_of_pairs(graph):
    assert graph.values(["weight"])["weight"] == 2.0
    assert set(graph.weights) == {"s", "z", "w"}  # by the file's own names, of which no pair has one


def test_operators_are_those_between_two_tensors_of_a_file(graph):
    assert [node.op_type for node in behind(graph, "y", ["h"])] == ["Neg", "Mul"]
    assert [node.op_type for node in behind(graph, "h", ["x"])] == ["Relu", "DequantizeLinear", "QuantizeLinear"]
    assert behind(graph, "h", ["h"]) == []


def test_the_graph_of_a_file_has_its_own_names(graph):
    assert file_graph(graph) is declared_graph(graph) is graph.side.graph
    assert file_graph(graph.side.graph) is graph.side.graph


class Part(Runner):
    """Doubles what it is fed; it has inputs of given types."""

    def __init__(self, makes, **inputs):
        super().__init__("part")
        self.makes, self.fed, self.inputs = makes, {}, TensorMetadata()
        for name, dtype in inputs.items():
            self.inputs.add(name, dtype, (2,))

    def activate_impl(self):
        self.active = True

    def get_input_metadata_impl(self):
        return self.inputs

    def infer_impl(self, feed_dict):
        self.fed = feed_dict
        return {self.makes: next(iter(feed_dict.values()))}


def infer(runner, graph, inputs, outputs, feed, calculates=True):
    with SharedRunner(runner, graph, SharedPart(None, inputs, outputs, NAMES, calculates)) as shared:
        return shared.get_input_metadata(), shared.infer(feed)


def test_codes_are_fed_for_numbers_and_numbers_come_back_for_codes(graph):
    part = Part("q", q=np.uint8)
    known, outputs = infer(part, graph, ("codes",), ("codes",), {"codes": np.float32([1.0, -0.5])})
    assert part.fed["q"].tolist() == [5, 2]
    assert part.fed["q"].dtype == np.uint8
    assert outputs["codes"].tolist() == [1.0, -0.5]
    assert known["codes"].dtype is None  # any real numbers are taken


def test_real_numbers_are_fed_in_the_type_that_the_model_reads(graph):
    part = Part("r0", x0=np.float16)
    feed = {"x": np.float32([1.0, 1e6]), "other": np.zeros(3, np.float32)}
    _, outputs = infer(part, graph, ("x", "other"), ("h",), feed)
    assert part.fed["x0"].dtype == np.float16
    assert part.fed["x0"].tolist() == [1.0, np.inf]
    assert list(outputs) == ["h"]


def test_what_is_only_handed_on_needs_no_run(graph):
    part = Part("k")
    _, outputs = infer(part, graph, ("kept",), ("kept",), {"kept": np.float32([1, 2])}, calculates=False)
    assert outputs["kept"].tolist() == [1, 2]
    assert not hasattr(part, "active")
