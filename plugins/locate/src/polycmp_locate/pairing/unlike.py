"""What both sides tell an operator that each has once, where they tell it otherwise."""

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
_FREE = MOVING | {"Cast", "CastLike", "Constant", "ConstantOfShape", "Concat", "If", "Loop", "Scan"}
#: Attributes that say how operands lie.
_LAYOUT = re.compile(r"trans[A-Z]|perm$|to$|saturate$|layout")
#: Endings of attributes that hold the same in another type.
_TYPED = re.compile(r"_(?:as_)?(?:int64s?|floats?|doubles?|strings?|tensor)$")
_LONGEST = 60
#: How far equal numbers of a file lie apart once they were written in float32.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Unlike:
    """An attribute of an operator that both sides have, and what each of them gives it.

    Attributes:
        op_type: The operator.
        candidate: The attribute's name and value in the candidate's file.
        reference: Those in the reference's.
    """

    op_type: str
    candidate: str
    reference: str


def unlike(mine: Sequence[GraphNode], theirs: Sequence[GraphNode]) -> tuple[Unlike, ...]:
    """Return the attributes in which operators differ that the parts of both sides have once each."""
    alone = [
        {node.op_type: node for node in nodes if counts[node.op_type] == 1}
        for nodes, counts in ((nodes, Counter(node.op_type for node in nodes)) for nodes in (mine, theirs))
    ]
    both = [kind for kind in alone[0] if kind in alone[1] and kind not in _FREE]
    return tuple(item for kind in both for item in _differences(alone[0][kind], alone[1][kind]))


def _differences(mine: GraphNode, theirs: GraphNode) -> Iterator[Unlike]:
    ours, others = _by_stem(mine.attributes), _by_stem(theirs.attributes)
    for stem in (stem for stem in ours if stem in others):
        (name, value), (other, wanted) = ours[stem], others[stem]
        if not _LAYOUT.match(stem) and not _are_equal(value, wanted):
            yield Unlike(mine.op_type, f"{name} {_shown(value)}", f"{other} {_shown(wanted)}")


def _by_stem(attributes: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    return {_TYPED.sub("", name): (name, value) for name, value in attributes.items()}


def _are_equal(left: Any, right: Any) -> bool:
    """Return whether values mean the same, or may: an axis counted from the end is one counted from the front."""
    both = [value if isinstance(value, list) else [value] for value in (left, right)]
    if len(both[0]) != len(both[1]) or any(not isinstance(item, (int, float)) for value in both for item in value):
        return bool(left == right)
    if all(isinstance(item, int) for value in both for item in value):
        return left == right or any((one < 0) != (other < 0) for one, other in zip(*both, strict=True))
    return np.allclose(both[0], both[1], rtol=_CLOSE, atol=0, equal_nan=True)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
