"""Texts that a model tells apart: the keys of the tables in which its inputs are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polycmp.tensors import TensorMetadata, dtype_class
from polycmp_onnx.graph import GraphView

#: Attributes with the texts that an operator knows; all others mean the same to it.
TABLES: Mapping[str, tuple[str, ...]] = {
    "LabelEncoder": ("keys_strings", "keys_tensor"),
    "CategoryMapper": ("cats_strings",),
    "OneHotEncoder": ("cats_strings",),
    "TfIdfVectorizer": ("pool_strings",),
}
#: Operators that hand on texts as they are, at most elsewhere.
_PASSING = frozenset(
    {
        "ArrayFeatureExtractor", "Concat", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
        "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    }
)  # fmt: skip
#: Texts that are kept for one input.
_MOST = 1000


def words_of(inputs: TensorMetadata, view: GraphView) -> dict[str, tuple[str, ...]]:
    """Return the texts that a model knows, by the input that is looked up in a table of them.

    Args:
        inputs: The model's inputs.
        view: Links of the model's graph.
    """
    kinds = {name: dtype_class(entry.dtype) for name, entry in inputs.items() if entry.dtype is not None}
    texts = [name for name, kind in kinds.items() if kind == "string"]
    if not texts:
        return {}
    origins = view.origins(texts, lambda node, _: node.op_type in _PASSING)
    knowing: dict[str, dict[str, None]] = {name: {} for name in texts}
    for node in view.nodes:
        for origin in {origin for name in node.input for origin in origins.get(name, ())}:
            knowing[origin].update(dict.fromkeys(_known_by(node, view.weights)))
    return {name: tuple(words)[:_MOST] for name, words in knowing.items() if words}


def _known_by(node: Any, weights: Mapping[str, Any]) -> list[str]:
    """Return the texts that a node knows."""
    texts_known: list[str] = []
    for attribute in node.attribute:
        if attribute.name in TABLES.get(node.op_type, ()):
            texts_known += _texts(attribute.strings or attribute.t.string_data)
    if node.op_type == "Equal":  # which compares with texts of the model
        texts_known += [text for name in node.input if name in weights for text in _texts(weights[name].string_data)]
    return texts_known


def _texts(content: Iterable[bytes]) -> list[str]:
    return [item.decode("utf-8", "replace") for item in content]
