"""What the reference of the package onnx, and ONNX Runtime's quantiser made wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

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


def _lstm_reverse() -> Case:
    g = Graph("lstm_reverse", opset=14)
    w, r = g.normal(1, 16, 3), g.normal(1, 16, 4)
    x = g.input("x", g.normal(3, 2, 3))
    g.node("LSTM", [x, g.const("W", w), g.const("R", r)], ["l", "h"], hidden_size=4, direction="reverse")
    g.node("Add", ["l", g.const("one", [1.0])], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = np.zeros((3, 1, 2, 4))
        hidden, cell = np.zeros((2, 4)), np.zeros((2, 4))
        for step in (2, 1, 0):
            i, o, f, c = np.split(feed["x"][step] @ w[0].T + hidden @ r[0].T, 4, axis=1)
            cell = cell / (1 + np.exp(-f)) + np.tanh(c) / (1 + np.exp(-i))
            hidden = np.tanh(cell) / (1 + np.exp(-o))
            made[step, 0] = hidden
        return [(made + 1).astype(np.float32)]

    return case(g, right)


def _small_weights() -> Case:
    g = Graph("small_weights", opset=13)
    w, b = np.full((2, 2, 1, 1), 1e-8), [5.0, -4.5]
    g.node("Conv", [g.input("x", g.normal(1, 2, 4, 4)), g.const("w", w), g.const("b", b)], "y")
    g.output("y")
    return case(g, lambda feed: [np.broadcast_to(np.array(b, np.float32)[:, None, None], (1, 2, 4, 4))])


_OR: dict[str, Any] = {"backend": "onnx"}

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
        "LSTM backwards", "onnx: reference", "onnx 1.23.0", "direction=reverse is not looked at",
        _lstm_reverse, _onnx("1.22.0"), Environment(("onnx==1.23.2", "protobuf==6.33.0"), "3.11", "numpy>=2"),
        Answer(("l",)), **_OR,
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
