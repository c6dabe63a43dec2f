"""Attributes that differ between the operators of two parts, where each part has the operator once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycmp.graph import GraphNode
from polycmp_locate.pairing.side import MOVING

#: Operators whose attributes follow from how a file is written: what they are cast to, or hold.
_WRITTEN_FREELY = MOVING | {"Cast", "CastLike", "Constant", "ConstantOfShape", "Concat", "If", "Loop", "Scan"}
#: Attributes that say how operands lie.
_LAYOUT = re.compile(r"trans[A-Z]|perm$|to$|saturate$|layout")
#: Endings of attributes that hold the same in another type.
_TYPE_SUFFIX = re.compile(r"_(?:as_)?(?:int64s?|floats?|doubles?|strings?|tensor)$")
_MAX_LENGTH = 60
#: How far equal numbers of a file lie apart once they were written in float32.
_FLOAT32_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AttributeDifference:
    """An attribute of an operator that has different values on the two sides.

    Attributes:
        op_type: The operator.
        candidate: The attribute's name and value in the candidate's file.
        reference: Those in the reference's.
    """

    op_type: str
    candidate: str
    reference: str


def attribute_differences(
    candidate: Sequence[GraphNode], reference: Sequence[GraphNode]
) -> tuple[AttributeDifference, ...]:
    """Return the attributes in which operators differ that the parts of both sides have once each."""
    alone = [
        {node.op_type: node for node in nodes if counts[node.op_type] == 1}
        for nodes, counts in ((nodes, Counter(node.op_type for node in nodes)) for nodes in (candidate, reference))
    ]
    both = [kind for kind in alone[0] if kind in alone[1] and kind not in _WRITTEN_FREELY]
    return tuple(item for kind in both for item in _differences(alone[0][kind], alone[1][kind]))


def _differences(candidate_node: GraphNode, reference_node: GraphNode) -> Iterator[AttributeDifference]:
    candidate_attributes = _by_stem(candidate_node.attributes)
    reference_attributes = _by_stem(reference_node.attributes)
    for stem in (stem for stem in candidate_attributes if stem in reference_attributes):
        (name, value), (other, reference_value) = candidate_attributes[stem], reference_attributes[stem]
        if not _LAYOUT.match(stem) and not _are_equal(value, reference_value):
            yield AttributeDifference(
                candidate_node.op_type, f"{name} {_shortened(value)}", f"{other} {_shortened(reference_value)}"
            )


def _by_stem(attributes: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    return {_TYPE_SUFFIX.sub("", name): (name, value) for name, value in attributes.items()}


def _are_equal(candidate: Any, reference: Any) -> bool:
    """Return whether two values may mean the same: an axis may be counted from either end."""
    both = [value if isinstance(value, list) else [value] for value in (candidate, reference)]
    if len(both[0]) != len(both[1]) or any(not isinstance(item, (int, float)) for value in both for item in value):
        return bool(candidate == reference)
    if all(isinstance(item, int) for value in both for item in value):
        return candidate == reference or any((one < 0) != (other < 0) for one, other in zip(*both, strict=True))
    return np.allclose(both[0], both[1], rtol=_FLOAT32_TOLERANCE, atol=0, equal_nan=True)


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
