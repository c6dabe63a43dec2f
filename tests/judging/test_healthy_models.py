"""Healthy models of all kinds: two backends that agree on one iteration of default inputs have passed."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import each_once, spelled
from onnx import TensorProto, helper
from small_models import graph_model

node = helper.make_node
FLOAT, WHOLE, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / np.float32(np.sqrt(shape[0]))


def classifier() -> onnx.ModelProto:
    nodes = [
        node("Gemm", ["x", "w", "b"], ["logits"]), node("Softmax", ["logits"], ["probabilities"], axis=1),
        node("ArgMax", ["logits"], ["label"], axis=1, keepdims=0),
    ]  # fmt: skip
    outputs = [("label", WHOLE, [1]), ("probabilities", FLOAT, [1, 10])]
    return graph_model(nodes, [("x", FLOAT, [1, 16])], outputs, [("w", values(16, 10)), ("b", values(10))])


def detector() -> onnx.ModelProto:
    """Return boxes up to 640 beside scores up to 1, in one output and apart, and what is left of them."""
    nodes = [
        node("MatMul", ["w", "x"], ["m"]), node("Split", ["m", "parts"], ["b", "s"], axis=1),
        node("Sigmoid", ["b"], ["near"]), node("Mul", ["near", "size"], ["boxes"]), node("Sigmoid", ["s"], ["scores"]),
        node("Concat", ["boxes", "scores"], ["y"], axis=1),
        node("ReduceMax", ["scores"], ["best"], axes=[1], keepdims=0),
        node("Greater", ["best", "half"], ["is_found"]),
    ]  # fmt: skip
    outputs = [("y", FLOAT, [1, 84, 50]), ("best", FLOAT, [1, 50]), ("is_found", BOOL, [1, 50])]
    weights = [
        ("w", values(84, 8) * 3), ("parts", np.array([4, 80])), ("size", np.float32(640)), ("half", np.float32(0.99)),
    ]  # fmt: skip
    return graph_model(nodes, [("x", FLOAT, [1, 8, 50])], outputs, weights)


def decoder(cached: int) -> onnx.ModelProto:
    """Return one step of attention to a cache, which goes through, as does one of another attention untouched."""
    nodes = [
        node("Gather", ["table", "ids"], ["e"]), node("MatMul", ["e", "k"], ["new"]),
        node("MatMul", ["e", "q"], ["ask"]),
        node("Concat", ["past", "new"], ["present"], axis=1), node("Transpose", ["present"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["ask", "t"], ["scores"]), node("Softmax", ["scores"], ["p"], axis=2),
        node("MatMul", ["p", "present"], ["a"]), node("MatMul", ["a", "out"], ["logits"]),
        node("Identity", ["cross"], ["present_cross"]),
    ]  # fmt: skip
    inputs = [("ids", WHOLE, [1, 1]), ("past", FLOAT, [1, cached, 8]), ("cross", FLOAT, [1, 3, 8])]
    outputs = [
        ("logits", FLOAT, [1, 1, 9]),
        ("present", FLOAT, [1, cached + 1, 8]),
        ("present_cross", FLOAT, [1, 3, 8]),
    ]
    weights = [("table", values(30, 8)), *((name, values(8, 8, seed=ord(name[0]))) for name in ("k", "q"))]
    return graph_model(nodes, inputs, outputs, [*weights, ("out", values(8, 9))])


def encoder(kind: int) -> onnx.ModelProto:
    """Return a mean over those words that a mask shows, the mask as it is used, and the number of words."""
    nodes = [
        node("Gather", ["table", "ids"], ["e"]), node("MatMul", ["e", "w"], ["h"]), node("Tanh", ["h"], ["words"]),
        node("Cast", ["mask"], ["shown"], to=FLOAT), node("Unsqueeze", ["shown", "last"], ["column"]),
        node("Mul", ["words", "column"], ["kept"]), node("ReduceSum", ["kept", "first"], ["sum"], keepdims=0),
        node("ReduceSum", ["column", "first"], ["count"], keepdims=0), node("Div", ["sum", "count"], ["sentence"]),
    ]  # fmt: skip
    inputs = [("ids", WHOLE, [1, 6]), ("mask", kind, [1, 6])]
    outputs = [
        ("words", FLOAT, [1, 6, 8]),
        ("sentence", FLOAT, [1, 8]),
        ("shown", FLOAT, [1, 6]),
        ("count", FLOAT, [1, 1]),
    ]
    weights = [("table", values(30, 8)), ("w", values(8, 8)), ("last", np.array([2])), ("first", np.array([1]))]
    return graph_model(nodes, inputs, outputs, weights)


def with_constants() -> onnx.ModelProto:
    """Return a layer, and beside it anchors, a scaled weight, a shape, and numbers made of that shape."""
    nodes = [
        node("MatMul", ["x", "w"], ["y"]), node("Identity", ["grid"], ["anchors"]),
        node("Mul", ["w", "two"], ["scaled"]),
        node("Shape", ["y"], ["shape"]), node("Cast", ["shape"], ["sizes"], to=FLOAT),
        node("ConstantOfShape", ["shape"], ["zeros"]),
    ]  # fmt: skip
    outputs = [
        ("y", FLOAT, [4, 8]), ("anchors", FLOAT, [5, 4]), ("scaled", FLOAT, [16, 8]), ("shape", WHOLE, [2]),
        ("sizes", FLOAT, [2]), ("zeros", FLOAT, [4, 8]),
    ]  # fmt: skip
    weights = [("w", values(16, 8)), ("grid", values(5, 4)), ("two", np.float32(2))]
    return graph_model(nodes, [("x", FLOAT, [4, 16])], outputs, weights)


def with_scalars() -> onnx.ModelProto:
    """Return a layer of which inputs of one number scale, shift and choose."""
    nodes = [
        node("MatMul", ["x", "w"], ["m"]), node("Mul", ["m", "scale"], ["s"]), node("Add", ["s", "shift"], ["y"]),
        node("Where", ["flag", "y", "x8"], ["chosen"]), node("Greater", ["y", "shift"], ["above"]),
        node("Mul", ["scale", "scale"], ["squared"]),
    ]  # fmt: skip
    inputs = [
        ("x", FLOAT, [1, 16]),
        ("x8", FLOAT, [1, 8]),
        ("scale", FLOAT, []),
        ("shift", FLOAT, [1]),
        ("flag", BOOL, [1]),
    ]
    outputs = [("y", FLOAT, [1, 8]), ("chosen", FLOAT, [1, 8]), ("above", BOOL, [1, 8]), ("squared", FLOAT, [])]
    return graph_model(nodes, inputs, outputs, [("w", values(16, 8))])


def recurrent() -> onnx.ModelProto:
    nodes = [node("GRU", ["x", "w", "r", "b", "", "h"], ["y", "h_out"], hidden_size=8)]
    inputs = [("x", FLOAT, [5, 1, 4]), ("h", FLOAT, [1, 1, 8])]
    outputs = [("y", FLOAT, [5, 1, 1, 8]), ("h_out", FLOAT, [1, 1, 8])]
    weights = [("w", values(1, 24, 4)), ("r", values(1, 24, 8)), ("b", values(1, 48))]
    return graph_model(nodes, inputs, outputs, weights)


MODELS = {
    "classifier with a label": (classifier, ()),
    "detector": (detector, ()),
    "decoder with caches": (lambda: decoder(4), ()),
    "decoder with empty caches": (lambda: decoder(0), ()),
    "decoder with caches of 0": (lambda: decoder(4), ("--val-range", "past:[0,0]", "cross:[0,0]")),
    "encoder with a mask of ones": (lambda: encoder(FLOAT), ("--val-range", "mask:[1,1]")),
    "encoder with a mask of whole ones": (lambda: encoder(WHOLE), ("--val-range", "mask:[1,1]")),
    "encoder with one word only": (lambda: encoder(WHOLE), ("--val-range", "mask:[1,1]", "ids:[7,7]")),
    "outputs that are constants and shapes": (with_constants, ()),
    "inputs that are scalars": (with_scalars, ()),
    "recurrent": (recurrent, ()),
    "recurrent with a state of 0": (recurrent, ("--val-range", "h:[0,0]")),
}


@pytest.mark.parametrize(
    ("name", "words"), each_once(MODELS, [(), ("--sequential-runners",), ("--iterations", "2")]), ids=spelled
)
def test_two_backends_that_agree_on_one_iteration_have_passed(polycmp, tmp_path, name, words):
    make, inputs = MODELS[name]
    onnx.save(make(), tmp_path / "m.onnx")
    said = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *inputs, *words, "--save-outputs", "saved.npz")
    assert said.status == 0, said.out + said.err
    assert "BLIND" not in said.out
    if not words:
        saved = polycmp("compare", "saved.npz", "--atol", "1e-4")
        assert "does not depend" not in saved.out and "no output depends" not in saved.out, saved.out
