"""Several ONNX models as one model of separate parts.

`onnx.compose.add_prefix_graph` leaves the old names of weights where subgraphs read them from around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polycmp.loader import Loader
from polycmp_onnx.graph import subgraphs
from polycmp_onnx.load import OnnxLoader

if TYPE_CHECKING:
    from onnx import ModelProto

_FIELDS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info")


class _Joined(OnnxLoader):
    def __init__(self, parts: Mapping[str, Loader[Any]]) -> None:
        self.parts = parts

    def call_impl(self) -> ModelProto:
        """Return the parts as one model, each tensor and operator with its part's prefix.

        Raises:
            ModelError: A part's weights cannot be read.
        """
        joined: Any = None
        for prefix, loader in self.parts.items():
            part = loader()
            _rename(part.graph, prefix)
            if joined is None:
                joined = part
                continue
            for field in _FIELDS:
                getattr(joined.graph, field).extend(getattr(part.graph, field))
        return joined


def join(parts: Mapping[str, Loader[Any]]) -> OnnxLoader:
    """Return a loader of one model that computes several independent ones.

    Args:
        parts: Loaders of parts of one model, by the prefix that the names of their tensors get. What they give is fresh
            each time, and changed here.
    """
    return _Joined(parts)


def _rename(graph: Any, prefix: str) -> None:
    """Put a prefix before every name in a graph; those in inner graphs get it, too, and so still mean the same."""
    for item in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        item.name = prefix + item.name
    for sparse in graph.sparse_initializer:
        sparse.values.name = prefix + sparse.values.name
    for node in graph.node:
        if node.name:
            node.name = prefix + node.name
        for names in (node.input, node.output):
            names[:] = [prefix + name if name else name for name in names]
        for inner in subgraphs(node):
            _rename(inner, prefix)
