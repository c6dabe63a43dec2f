"""Models whose outputs are inputs of the next step: a decoder with a cache like GPT-2's, and a recurrent one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
VOCABULARY, HEADS, WIDTH, POSITIONS = 40, 2, 16, 64
STATE = r"present\.(.*)=past_key_values.\1"


class Builder:
    """A graph under construction; every operator is named after the tensor that it makes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}

    def add(self, op: str, name: str, *inputs: str | np.ndarray, **attributes: object) -> str:
        names = []
        for index, item in enumerate(inputs):
            names.append(item if isinstance(item, str) else f"{name}.{index}")
            if not isinstance(item, str):
                self.weights[names[-1]] = np.asarray(item)
        self.nodes.append(helper.make_node(op, names, [name], name=f"/{name}", **attributes))
        return name


def decoder(
    layers: int = 2, forgets: dict[int, int | slice] | None = None, seed: int = 0, wrong: str = ""
) -> onnx.ModelProto:
    """A decoder with random weights, and a cache that has a fault where asked for.

    Args:
        layers: How many.
        forgets: By layer a position, or several, whose key goes into the cache as zero; the structure stays the same.
        seed: Of the weights.
        wrong: `offset` if positions are counted without the cache, `padding` if the mask hides nothing.
    """
    random = np.random.default_rng(seed)
    b = Builder()

    def normal(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    tokens = b.add("Gather", "wte", normal(VOCABULARY, WIDTH) * 4, "input_ids")
    x = b.add("Add", "embedded", tokens, b.add("Gather", "wpe", normal(POSITIONS, WIDTH) * 4, "position_ids"))
    bias = _mask(b, wrong)
    for layer in range(layers):
        x = _layer(b, f"h.{layer}", x, bias, normal, (forgets or {}).get(layer))
    b.add("MatMul", "logits", _norm(b, "ln_f", x), normal(WIDTH, VOCABULARY))
    cache = [f"{layer}.{kind}" for layer in range(layers) for kind in ("key", "value")]
    past = [(f"past_key_values.{name}", FLOAT, ["batch", HEADS, "past", WIDTH // HEADS]) for name in cache]
    made = [(f"present.{name}", FLOAT, ["batch", HEADS, "past + sequence", WIDTH // HEADS]) for name in cache]
    ids = [("input_ids", INT, ["batch", "sequence"]), ("attention_mask", INT, ["batch", "past + sequence"])]
    graph = helper.make_graph(
        b.nodes,
        "decoder",
        [helper.make_tensor_value_info(*i) for i in [*ids, ("position_ids", INT, ["batch", "sequence"]), *past]],
        [helper.make_tensor_value_info(*i) for i in [("logits", FLOAT, ["batch", "sequence", VOCABULARY]), *made]],
        [numpy_helper.from_array(array, name) for name, array in b.weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _mask(b: Builder, wrong: str) -> str:
    """Return what is added to scores: -1e4 for padding and for what comes later. `[batch, 1, sequence, total]`."""
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    total = b.add("Gather", "total", b.add("Shape", "mask_shape", "attention_mask"), one, axis=0)
    queries = b.add("Gather", "sequence", b.add("Shape", "ids_shape", "input_ids"), one, axis=0)
    keys = b.add("Range", "key_index", zero, total, one)
    past = b.add("Sub", "past", total, queries)
    rows = b.add("Range", "query_index", *((zero, queries) if wrong == "offset" else (past, total)), one)
    allowed = b.add("LessOrEqual", "causal", keys, b.add("Unsqueeze", "query_rows", rows, np.array([1])))
    seen = b.add("Cast", "is_token", b.add("Unsqueeze", "mask_4d", "attention_mask", np.array([1, 2])), to=9)
    both = b.add("And", "visible", allowed if wrong == "padding" else seen, allowed)
    return b.add("Where", "bias", both, np.float32(0).reshape(1), np.float32(-1e4).reshape(1))


def _norm(b: Builder, name: str, x: str) -> str:
    return b.add("LayerNormalization", name, x, np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32))


def _layer(b: Builder, name: str, x: str, bias: str, normal, forgets: int | slice | None) -> str:
    layer = name.split(".")[1]
    y = _norm(b, f"{name}.ln_1", x)
    heads = {}
    for kind in ("query", "key", "value"):
        made = b.add("MatMul", f"{name}.attn.{kind}", y, normal(WIDTH, WIDTH))
        split = b.add("Reshape", f"{name}.attn.{kind}_split", made, np.array([0, 0, HEADS, WIDTH // HEADS]))
        heads[kind] = b.add("Transpose", f"{name}.attn.{kind}_heads", split, perm=[0, 2, 1, 3])
    for kind in ("key", "value"):
        window = np.linspace(0.9, 1.1, POSITIONS, dtype=np.float32)[:, None]
        if kind == "key" and forgets is not None:
            window[forgets] = 0
        kept = b.add("Gather", f"{name}.attn.{kind}_window", window, "position_ids")
        every = b.add("Unsqueeze", f"{name}.attn.{kind}_windows", kept, np.array([1]))
        scaled = b.add("Mul", f"{name}.attn.{kind}_scaled", heads[kind], every)
        past = f"past_key_values.{layer}.{kind}"
        heads[kind] = b.add("Concat", f"present.{layer}.{kind}", past, scaled, axis=2)
    turned = b.add("Transpose", f"{name}.attn.key_turned", heads["key"], perm=[0, 1, 3, 2])
    scores = b.add("MatMul", f"{name}.attn.scores", heads["query"], turned)
    weights = b.add("Softmax", f"{name}.attn.weights", b.add("Add", f"{name}.attn.masked", scores, bias), axis=-1)
    mixed = b.add("MatMul", f"{name}.attn.mixed", weights, heads["value"])
    merged = b.add("Transpose", f"{name}.attn.merged", mixed, perm=[0, 2, 1, 3])
    flat = b.add("Reshape", f"{name}.attn.flat", merged, np.array([0, 0, WIDTH]))
    x = b.add("Add", f"{name}.attn.residual", x, b.add("MatMul", f"{name}.attn.out", flat, normal(WIDTH, WIDTH)))
    inner = b.add(
        "Tanh", f"{name}.mlp.act", b.add("MatMul", f"{name}.mlp.in", _norm(b, f"{name}.ln_2", x), normal(WIDTH, 32))
    )
    return b.add("Add", f"{name}.mlp.residual", x, b.add("MatMul", f"{name}.mlp.out", inner, normal(32, WIDTH)))


def recurrent(factor: float = 1.5) -> onnx.ModelProto:
    """h' = factor * h + x, y = 2 * h': any error of the state grows with every step."""
    b = Builder()
    grown = b.add("Mul", "grown", "h", np.array([factor], np.float32))
    b.add("Mul", "y", b.add("Add", "new_h", grown, "x"), np.array([2], np.float32))
    shapes = {name: helper.make_tensor_value_info(name, FLOAT, [1, 4]) for name in ("x", "h", "y", "new_h")}
    weights = [numpy_helper.from_array(array, name) for name, array in b.weights.items()]
    graph = helper.make_graph(b.nodes, "recurrent", [shapes["x"], shapes["h"]], [shapes["y"], shapes["new_h"]], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def save_all(folder: Path, **models: onnx.ModelProto) -> Iterator[str]:
    """Save models as NAME.onnx and yield the names of the files."""
    for name, model in models.items():
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, folder / f"{name}.onnx")
        yield f"{name}.onnx"
