"""One graph as pairing sees it: what is the same but for rounding, and what operators calculate with."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from polycmp.tensors import TensorMetadata
from polycmp_locate.pairing.side import ModelSide, plain_type
from polycmp_onnx import OnnxGraph

#: A product of codes beside one of real numbers; what follows is read again by both.
QUANTISED = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[2, 2] x) => (float[2, 2] y)
<float s = {0.5}, uint8 z = {3}, int8[2, 2] w8 = {1, 2, 3, 4}, float w_scale = {0.25}>
{
    q = QuantizeLinear (x, s, z)
    d = DequantizeLinear (q, s, z)
    r = Relu (d)
    dq, ds, dz = DynamicQuantizeLinear (r)
    product = MatMulInteger (dq, w8, dz)
    wide = Cast <to = 1> (product)
    scales = Mul (ds, w_scale)
    scaled = Mul (wide, scales)
    half = Cast <to = 10> (scaled)
    whole = Cast <to = 6> (scaled)
    y = Cast <to = 1> (half)
}
"""


def side(text, **shapes):
    model = onnx.parser.parse_model(text)
    graph = OnnxGraph(model)
    fed = TensorMetadata()
    for name, shape in (shapes or {"x": (2, 2)}).items():
        fed.add(name, np.float32, shape)
    return ModelSide(graph, fed)


@pytest.fixture(scope="module")
def quantised():
    return side(QUANTISED)


@pytest.mark.parametrize(
    ("tensor", "root"),
    [
        ("x", "x"),
        ("q", "x"),
        ("d", "x"),
        ("r", "r"),
        ("dq", "r"),
        ("product", "product"),
        ("wide", "product"),
        ("scaled", "product"),  # only scales what the product made
        ("half", "product"),
        ("y", "product"),
        ("whole", "whole"),  # what is behind the point is gone
    ],
)
def test_a_tensor_is_the_same_as_what_it_was_rounded_from(quantised, tensor, root):
    assert quantised.root(tensor) == root


def test_scales_and_whole_products_are_not_compared_and_all_else_is(quantised):
    assert set(quantised.floats) == {"d", "r", "scaled", "half", "y"}
    assert quantised.members["x"] == ["x", "q", "d"]
    assert [quantised.is_real(name) for name in ("q", "product", "whole")] == [True, False, False]


@pytest.mark.parametrize(("op_type", "shown"), [("Relu", ["x"]), ("Tanh", ["x", "d"])])
def test_codes_that_the_next_operator_cuts_anyway_are_not_shown(op_type, shown):
    assert list(side(QUANTISED.replace("Relu", op_type)).shown("x")) == shown


def test_operators_are_those_that_calculate_with_their_data_alone(quantised):
    assert [plain_type(node) for node in quantised.nodes] == ["Relu", "MatMul", "Cast"]
    product = quantised.maker["product"]
    assert (quantised.reads(product), quantised.weights_of(product)) == (("r",), ("w8",))
    assert [node.op_type for node, _ in quantised.readers["r"]] == ["MatMulInteger"]
    assert quantised.readers["product"] == [(quantised.maker["whole"], 0)]


def test_the_steps_and_the_reach_of_codes_are_known(quantised):
    assert (quantised.step_of("d"), quantised.step_of("q"), quantised.step_of("r")) == (0.5, 0.5, 0.0)
    assert quantised.reach_of("q") == (255 - 3) * 0.5
    assert [quantised.type_name(name) for name in ("q", "half")] == ["uint8", "float16"]
    assert quantised.class_of("q") == "float"


def test_readers_that_only_quantise_are_told_apart_and_outputs_have_others(quantised):
    assert [node.outputs[0] for node in quantised.quantisers("x")] == ["q"]
    assert quantised.quantisers("q") == []
    assert quantised.finals == {"y"}


def test_a_class_may_be_split_where_the_other_graph_calculates():
    """A Cast that stands for a Floor of the other file is no rounding, and neither is what is made of it."""
    found = side(QUANTISED)
    before = found.root("y")
    found.split(["half"], "Floor")
    assert (before, found.root("half"), found.root("y")) == ("product", "half", "half")
    assert found.kind(found.maker["half"]) == "Floor"
    assert found.kind(found.maker["product"]) == "MatMul"
    assert found.members["half"] == ["half", "y"]


def test_a_shape_that_one_tensor_lacks_is_that_of_its_class():
    found = side(QUANTISED)
    entry = found.types["d"]
    found.types = TensorMetadata({name: item for name, item in found.types.items() if name != "d"})
    found.types.add("d", np.float32, None)
    assert found.entry("d").shape == entry.shape


BLOCKED = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <float[1, 1, 1, 1] w = {2}>
{
    b = com.microsoft.nchwc.ReorderInput (x)
    c = com.microsoft.nchwc.Conv (b, w)
    r = Relu (c)
    o = com.microsoft.nchwc.ReorderOutput <channels = 1> (r)
    y = Relu (o)
}
"""


def test_channels_in_blocks_are_like_no_other_tensor_until_they_are_put_back():
    found = side(BLOCKED, x=(1, 1, 4, 4))
    assert [name for name in found.computed if found.is_blocked(name)] == ["b", "c", "r"]
    assert set(found.floats) == {"o", "y"}
    assert found.root("o") == "r"
