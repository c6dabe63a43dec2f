"""What the reference of the package onnx, and ONNX Runtime's quantiser made wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from truth.build import Array, Graph
from truth.history.environments import Environment
from truth.history.issue import Answer, Case, Issue, case, onnxruntime
from truth.history.issues.kernels import attention_softcap

_QUANTISER = """
import numpy, onnxruntime.quantization as quantization
class Reader(quantization.CalibrationDataReader):
    def __init__(self):
        self.feeds = iter([dict(numpy.load(inputs))])
    def get_next(self):
        return next(self.feeds, None)
quantization.quantize_static(source, target, Reader(), quant_format=quantization.QuantFormat.{form})
"""


def _onnx(version: str) -> Environment:
    return Environment((f"onnx=={version}",), "3.11", "numpy>=2")


def _attention(feed: Mapping[str, Array], groups: int, hidden: Array) -> Array:
    """Return attention in double precision."""
    q, k, v = (feed[name].astype(np.float64) for name in "qkv")
    if "pk" in feed:
        k, v = np.concatenate([feed["pk"], k], 2), np.concatenate([feed["pv"], v], 2)
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    scores = np.where(hidden, -np.inf, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ v + 1, np.float32)


def _attention_past() -> Case:
    g = Graph("attention_past", opset=23)
    names = [g.input(name, g.normal(1, 2, 3, 8)) for name in "qkv"]
    names += ["", g.input("pk", g.normal(1, 2, 2, 8)), g.input("pv", g.normal(1, 2, 2, 8))]
    g.node("Attention", names, ["a", "nk", "nv"], is_causal=1)
    g.node("Add", ["a", g.const("one", [1.0])], "y")
    g.output("y")
    hidden = np.arange(5)[None] > np.arange(3)[:, None] + 2
    return case(g, lambda feed: [_attention(feed, 1, hidden)])


def _attention_groups() -> Case:
    g = Graph("attention_groups", opset=23)
    names = [g.input("q", g.normal(1, 4, 3, 8)), *(g.input(name, g.normal(1, 2, 3, 8)) for name in "kv")]
    g.node("Attention", names, "a")
    g.node("Add", ["a", g.const("one", [1.0])], "y")
    g.output("y")
    return case(g, lambda feed: [_attention(feed, 2, np.zeros((3, 3), bool))])


def _scatter_max() -> Case:
    g = Graph("scatter_max", opset=18)
    places, updates = g.const("i", [[0, 1], [2, 3], [0, 1]], np.int64), g.const("u", [0.5, -3, 2])
    g.node("ScatterND", [g.input("x", g.normal(3, 4)), places, updates], "s", reduction="max")
    g.node("Relu", ["s"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = feed["x"].copy()
        made[0, 1], made[2, 3] = max(made[0, 1], 2), max(made[2, 3], -3)
        return [np.maximum(made, 0)]

    return case(g, right)


def _crop() -> Case:
    """The second size is the number of its axis, too."""
    g = Graph("crop", opset=18)
    g.node("CenterCropPad", [g.input("x", g.normal(3, 5, 6)), g.ints("shape", 4, 1)], "c", axes=[0, 1])
    g.node("Relu", ["c"], "y")
    g.output("y")
    return case(g, lambda feed: [np.pad(np.maximum(feed["x"], 0), ((0, 1), (0, 0), (0, 0)))[:, 2:3]])


def _largest_codes() -> Case:
    g = Graph("largest_codes", opset=24)
    x = g.input("x", np.array([[0, 7, 255, 3], [9, 0, 1, 2]], np.uint8))
    g.node("TopK", [x, g.ints("k", 2)], ["v", "i"], axis=1)
    g.node("Cast", ["v"], "y", to=TensorProto.FLOAT)
    g.output("y")
    return case(g, lambda feed: [-np.sort(-feed["x"].astype(np.float32), 1)[:, :2]])


def _small_weights() -> Case:
    g = Graph("small_weights", opset=13)
    w, b = np.full((2, 2, 1, 1), 1e-8), [5.0, -4.5]
    g.node("Conv", [g.input("x", g.normal(1, 2, 4, 4)), g.const("w", w), g.const("b", b)], "y")
    g.output("y")
    return case(g, lambda feed: [np.broadcast_to(np.array(b, np.float32)[:, None, None], (1, 2, 4, 4))])


_OR: dict[str, Any] = {"backend": "onnx"}
_NEWEST = Environment(("onnx==1.23.2", "protobuf==6.33.0"), "3.11", "numpy>=2")

OTHERS = (
    Issue(
        "Attention with a past, causal", "onnx: reference", "onnx#7297", "the mask does not know of the past",
        _attention_past, _onnx("1.19.0"), _onnx("1.20.1"), Answer(("a",)), **_OR,
    ),
    Issue(
        "Attention with fewer heads of keys", "onnx: reference", "onnx 1.20.0", "heads are repeated in the wrong order",
        _attention_groups, _onnx("1.19.0"), _onnx("1.20.1"), Answer(("a",)), **_OR,
    ),
    Issue(
        "Attention with softcap and a mask, reference", "onnx: reference", "onnx#7865",
        "the cap is applied after the mask, so masked positions get weight",
        attention_softcap, _onnx("1.21.0"), _onnx("1.22.0"), Answer(("a",)), **_OR,
    ),
    Issue(
        "ScatterND, the largest", "onnx: reference", "onnx#8096",
        "indices of single elements are taken for rows: it cannot run",
        _scatter_max, _onnx("1.22.0"), _NEWEST, Answer(("s",)), **_OR,
    ),
    Issue(
        "CenterCropPad to 1", "onnx: reference", "onnx#7522", "a size that is the number of its axis is left as it is",
        _crop, _onnx("1.20.1"), _onnx("1.21.0"), Answer(("c",)), **_OR,
    ),
    Issue(
        "TopK of unsigned numbers", "onnx: reference", "onnx#6593", "0 comes before 255, as the numbers are negated",
        _largest_codes, _onnx("1.17.0"), _onnx("1.19.0"), Answer(("v",)), **_OR,
    ),
    Issue(
        "Conv with small weights and a large bias", "ONNX Runtime: quantiser", "onnxruntime#22020",
        "the bias does not fit into int32 at its scale, and is clipped",
        _small_weights, onnxruntime("1.19.2"), onnxruntime("1.21.1"),
        Answer(("y", "y_QuantizeLinear_Input"), (r"(?i)bias|clip|int32",)),
        tool=_QUANTISER.format(form="QDQ"), tolerance=0.05, rounds=True,
    ),
    Issue(
        "Conv with small weights, QOperator", "ONNX Runtime: quantiser", "onnxruntime#25278",
        "the bias does not fit into int32 at its scale, and is clipped",
        _small_weights, onnxruntime("1.21.1"), onnxruntime("1.23.2"), Answer(("y",), (r"(?i)bias|clip|int32",)),
        tool=_QUANTISER.format(form="QOperator"), tolerance=0.05, rounds=True,
    ),
)  # fmt: skip
