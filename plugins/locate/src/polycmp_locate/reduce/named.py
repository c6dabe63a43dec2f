"""Operators named in a message: most backends name the one that they could not build or run."""

from __future__ import annotations

import re
from collections import Counter

from polycmp.graph import GraphNode, ModelGraph

#: A message that names more operators than this is a list of them, or their names are words of the language.
_MAX_NAMED = 2


def operators_named(text: str, graph: ModelGraph) -> list[int]:
    """Return the positions of the operators that a message names, none if there are many.

    An operator is named by its name, which may be that of what it makes, and by its type if no other one has it.
    """
    types = Counter(node.op_type for node in graph.nodes)
    end_names = {*graph.inputs, *graph.outputs}

    def names(node: GraphNode) -> set[str]:
        by_type = [node.op_type] if types[node.op_type] == 1 else []
        return {*filter(None, [node.name or next(iter(node.outputs), ""), *by_type])} - end_names

    positions = [index for index, node in enumerate(graph.nodes) if any(_is_in(text, name) for name in names(node))]
    return positions if len(positions) <= _MAX_NAMED else []


def _is_in(text: str, name: str) -> bool:
    return name in text and re.search(rf"(?<![\w/.]){re.escape(name)}(?![\w/])", text) is not None
