"""What a model rounds to inside, and what another file of it rounds that the model does not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from toygraphs import FEED, PLAIN, QUANTISED, SCALE, Graph, node

from polycmp.builtin.judging.types import (
    beside_ties,
    cast_weights,
    folded_factors,
    grid_steps,
    may_draw,
    own_types,
    quantised_tensors,
    round_alike,
    rounded_weights,
    samples_vary,
    shared_roundings,
    types_inside,
    types_on_the_way,
)
from polycmp.tensors import TensorMetadata

# --- one model


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        (PLAIN, {"float32"}),
        (Graph(node("Cast", "x", "h"), node("Relu", "h", "y"), types={"h": "float16", "y": "float16"}), {"float16"}),
        (QUANTISED, {"float32", "int8"}),
        (Graph(node("Shape", "x", "y"), types={"y": "int64"}), set()),
    ],
)
def test_types_inside_are_those_of_what_operators_make(graph, names):
    assert types_inside(graph, graph.types(graph.inputs)) == names


@pytest.mark.parametrize(
    ("made", "draws"),
    [
        (node("Gemm", "x w", "y"), False),
        (node("TreeEnsembleRegressor", "x", "y", domain="ai.onnx.ml"), False),
        (node("Dropout", "x", "y"), False),
        (node("RandomNormalLike", "x", "y"), True),
        (node("Dropout", "x ratio trains", "y"), True),
        (node("If", "c x", "y"), True),
        (node("Noise", "x", "y", domain="somebody's"), True),
    ],
    ids=lambda item: getattr(item, "op_type", None),
)
def test_a_model_may_draw_where_an_operator_does_or_may_be_anything(made, draws):
    assert may_draw(Graph(node("Relu", "z", "x"), made)) == draws


def test_own_types_are_of_real_numbers_and_need_inputs():
    graph = Graph(node("Cast", "x", "h"), node("Shape", "h", "s"), types={"h": "float16", "s": "int64"})
    assert own_types(graph, FEED) == {"h": "float16"}
    assert own_types(graph, {}) == {}


def test_the_coarsest_type_stays_on_the_way():
    graph = Graph(node("Cast", "x", "h"), node("Cast", "h", "w"), node("Relu", "x", "r"), node("Add", "w r", "y"))
    assert types_on_the_way(graph, {"h": "float16", "w": "float32", "r": "float32", "y": "float32"}) == {
        "h": "float16",
        "w": "float16",
        "r": "float32",
        "y": "float16",
    }


@pytest.mark.parametrize(
    ("nodes", "types", "varying"),
    [
        ([node("MatMul", "x w", "y")], {}, False),
        ([node("Shape", "x", "s"), node("Expand", "x s", "y")], {"s": "int64"}, False),
        ([node("Greater", "x w", "b"), node("Where", "b x w", "y")], {"b": "bool"}, True),
        ([node("ArgMax", "x", "i"), node("Gather", "w i", "y")], {"i": "int64"}, True),
        ([node("Round", "x", "y")], {}, True),
        ([node("Round", "w", "r"), node("Mul", "x r", "y")], {}, False),
        ([node("QuantizeLinear", "x w", "q"), node("DequantizeLinear", "q w", "y")], {"q": "int8"}, True),
    ],
    ids=["products", "shapes", "a mask", "the largest", "rounded", "rounded weights", "codes"],
)
def test_samples_vary_where_operators_make_jumps_of_what_moves(nodes, types, varying):
    graph = Graph(*nodes, weights={"w": np.ones(4, np.float32)}, types=types, shape=(2, 4))
    assert samples_vary(graph, graph.types(graph.inputs)) is varying
    assert samples_vary(graph, TensorMetadata()), "what is of an unknown type may be anything"


@pytest.mark.parametrize(
    ("shape", "varying"), [((2, 4), False), ((7,), True), ((), True), ((-1, 64), True), (("n", 64), True), (None, True)]
)
def test_samples_vary_where_a_tensor_on_the_way_holds_few_numbers_or_nobody_knows(shape, varying):
    graph = Graph(node("MatMul", "x w", "y"), weights={"w": np.ones(4, np.float32)}, shape=shape)
    assert samples_vary(graph, graph.types(graph.inputs)) is varying


def test_weights_that_a_cast_widens_have_the_type_of_the_file():
    half = np.ones(4, np.float16)
    graph = Graph(
        node("Cast", "w", "wide"), node("Cast", "whole", "real"), node("Mul", "x wide", "y"),
        weights={"w": half, "whole": np.ones(4, np.int64)},
    )  # fmt: skip
    assert cast_weights(graph) == {"wide": "float16"}
    bfloat16 = Graph(node("Cast", "w", "wide"), weights={"w": half.astype(ml_dtypes.bfloat16)})
    assert cast_weights(bfloat16) == {"wide": "bfloat16"}


# --- two models


def test_two_models_round_alike_where_neither_rounds_what_the_other_does_not():
    half = Graph(node("Cast", "x", "h"), node("MatMul", "h w", "y"), types={"h": "float16", "y": "float16"})
    assert round_alike(PLAIN, PLAIN, FEED)
    assert round_alike(QUANTISED, QUANTISED, FEED)
    assert round_alike(half, half, FEED)
    for other in (half, QUANTISED):
        assert not round_alike(PLAIN, other, FEED)
        assert not round_alike(other, PLAIN, FEED)
    assert not round_alike(PLAIN, PLAIN, {})  # types are known with inputs alone


def test_what_another_file_rounds_has_the_step_of_its_scale():
    assert quantised_tensors(QUANTISED, PLAIN) == {"x": 0.25}
    dynamic = Graph(node("DynamicQuantizeLinear", "x", "codes s z"), node("MatMulInteger", "codes w", "y"))
    assert quantised_tensors(dynamic, Graph(node("Relu", "x", "y"))) == {"x": "int8"}


def test_a_file_whose_operators_read_and_make_codes_tells_nothing_for_certain():
    fused = Graph(node("QLinearMatMul", "x", "y"))
    assert quantised_tensors(fused, PLAIN) == {}
    renamed = Graph(node("QuantizeLinear", "other scale", "codes"), weights={"scale": SCALE})
    assert quantised_tensors(renamed, PLAIN) == {}


def test_weights_that_are_codes_have_the_step_that_the_file_shows_or_that_of_their_bits():
    assert rounded_weights(PLAIN, PLAIN) == {}
    with_scale = Graph(
        node("MatMulInteger", "codes w_quantized", "y"),
        weights={"w_quantized": np.ones((4, 4), np.int8), "w_scale": np.array([0.5, 0.125], np.float32)},
    )
    assert rounded_weights(with_scale, PLAIN) == {"w": 0.5}
    without = Graph(node("MatMulInteger", "codes w_q", "y"), weights={"w_q": np.ones((4, 4), np.int8)})
    assert rounded_weights(without, PLAIN) == {"w": "int8"}
    four_bits = Graph(node("MatMulNBits", "x packed", "y", bits=4), weights={"packed": np.ones(8, np.uint8)})
    assert rounded_weights(four_bits, PLAIN) == {"w": "int4"}


def test_weights_of_a_coarser_type_are_found_behind_the_same_operator():
    coarse = Graph(
        node("Cast", "half", "wide"), node("MatMul", "x wide", "y"), weights={"half": np.ones((4, 4), np.float16)}
    )
    assert rounded_weights(coarse, PLAIN) == {"w": "float16"}


# --- folding and ties

NORMALISED = {
    "w": np.ones((2, 1, 1, 1), np.float32),
    "gamma": np.float32([2.0, 3.0]),
    "beta": np.zeros(2, np.float32),
    "mean": np.zeros(2, np.float32),
    "variance": np.float32([4.0, 9.0]),
}


def normalised(*more):
    conv, norm = node("Conv", "x w", "h"), node("BatchNormalization", "h gamma beta mean variance", "y", epsilon=0.0)
    return Graph(conv, norm, *more, weights=NORMALISED)


def test_the_factors_of_a_folded_normalisation_are_those_of_its_channels():
    assert folded_factors(normalised(), "w").tolist() == [1.0, 1.0]
    assert folded_factors(normalised(), "w", frozenset({"y"})) is None  # it is not left away
    assert folded_factors(normalised(node("Relu", "h", "z")), "w") is None  # the product is read besides
    assert folded_factors(PLAIN, "w") is None


def test_codes_that_both_sides_hold_round_nothing_but_what_is_beside_ties():
    rounding = shared_roundings(QUANTISED, "float32")
    assert rounding["back"] == "float64"
    assert rounding["x"] == beside_ties("float32", 0.25 * 128)
    assert beside_ties("float32", 32.0) == 2.0 * 4.0 * 2.0**-24 * 32.0
    assert shared_roundings(QUANTISED, "float16")["x"] == beside_ties("float16", 0.25 * 128)


def test_the_grid_of_codes_is_handed_on():
    graph = Graph(
        node("QuantizeLinear", "x s", "codes"),
        node("Reshape", "codes shape", "flat"),
        node("DequantizeLinear", "flat s", "back"),
        node("Relu", "back", "y"),
        node("Add", "y y", "sum"),
        node("DequantizeLinear", "w s", "weight"),
        weights={"s": SCALE, "w": np.int8([1, 2])},
    )
    size = float(SCALE)
    assert grid_steps(graph) == {"codes": 1.0, "flat": 1.0, "back": size, "y": size}


def test_a_product_of_codes_with_a_real_bias_has_steps_of_both_scales():
    graph = Graph(
        node("DequantizeLinear", "a s", "left"),
        node("DequantizeLinear", "b t", "right"),
        node("Gemm", "left right bias", "y"),
        weights={"s": SCALE, "t": np.float32(0.5), "bias": np.zeros(4, np.float32)},
    )
    assert shared_roundings(graph, "float32")["y"] == 0.125
