"""A constant in an export in place of a tensor that the reference reads: frozen from the example inputs.

Asked of an operator that is accused, where both sides run models of their own. Of a tensor that only the reference
reads it takes three runs of parts of the reference. Of one that both read it takes four of the part for each small
constant of the candidate that has the tensor's shape: two sides agree where the tensor is what the constant is, and
nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import weight_values
from polycmp.layerwise import a_few
from polycmp.tensors import Feed, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph, behind
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import BEYOND_EIGHT_BITS
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import Judged, Reason
from polycmp_locate.values.measured import Row

#: Elements of a constant that may stand for a tensor: sizes, counts and factors, not weights.
_ELEMENTS = 16


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield a note on tensors that the reference reads, and for which a constant stands in the candidate."""
    row = judged.accused
    if row is None or not isinstance(row.node, PartNode):
        return
    inner = [name for name in row.node.inputs if name not in feed]
    shown = (setting.reference.run_whole(feed, inner) if inner else {}) or {}
    tensors = {**shown, **feed}
    if not all(name in tensors for name in row.node.inputs):
        return
    inputs = {name: tensors[name] for name in row.node.inputs}
    if row.node.only_reference and not row.node.only_candidate:
        yield from _read_by_one(row, row.node, setting, inputs)
    elif isinstance(setting.candidate.graph, SharedGraph):
        yield from _read_by_both(row, setting, inputs)


def _read_by_one(row: Row, node: PartNode, setting: Setting, inputs: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield a note on tensors that only the reference reads, where other values of them give another tensor."""
    changed = {name: _other(inputs[name]) for name in node.only_reference}
    before = setting.reference.run_part(inputs, [row.tensor])
    after = setting.reference.run_part({**inputs, **changed}, [row.tensor])
    if before is None or after is None or distance(after[row.tensor], before[row.tensor]) <= BEYOND_EIGHT_BITS:
        return
    read, labels = a_few(node.only_reference), (setting.candidate.label, setting.reference.label)
    yield Reason(
        f"with other values of {read} {labels[1]} makes another {row.tensor!r}, and {labels[0]} "
        "does not read it: a constant stands there, frozen from the example inputs of the export"
    )


def _read_by_both(row: Row, setting: Setting, inputs: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield a note on a tensor of which both sides make the same where, and only where, it is what a constant is."""
    for constant, value in _small_constants(row, setting):
        for name, array in inputs.items():
            stand_in = _as(value, to_numpy(array))
            if stand_in is None or _gap(row, setting, {**inputs, name: stand_in}) > BEYOND_EIGHT_BITS:
                continue
            if _gap(row, setting, {**inputs, name: stand_in + stand_in.dtype.type(1)}) > BEYOND_EIGHT_BITS:
                yield Reason(
                    f"of {', '.join(f'{item:.6g}' for item in value.reshape(-1).tolist())} in place of {name!r} "
                    f"both make the same {row.tensor!r}: the constant {constant!r} stands for it, frozen from the "
                    "example inputs of the export"
                )
                return


def _small_constants(row: Row, setting: Setting) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the constants of a few numbers that the candidate's operators read behind a tensor, with their names."""
    graph = setting.candidate.graph
    assert isinstance(graph, SharedGraph)
    read = {name: None for node in behind(graph, row.tensor, row.node.inputs) for name in node.inputs}
    values = weight_values(graph.side.graph, [name for name in read if name in graph.side.graph.weights])
    yield from ((name, to_numpy(value)) for name, value in values.items() if 0 < value.size <= _ELEMENTS)


def _as(value: NDArray[Any], array: NDArray[Any]) -> NDArray[Any] | None:
    """Return a constant as a value of a tensor, in its type and shape; None where it is none, or what it is already."""
    if value.size != array.size or array.dtype.kind not in "iuf" or not np.isfinite(value.astype(np.float64)).all():
        return None
    stand_in = value.reshape(array.shape).astype(array.dtype)
    is_same = np.array_equal(stand_in.astype(np.float64), value.reshape(array.shape).astype(np.float64))
    return None if not is_same or np.array_equal(stand_in, array) else stand_in


def _gap(row: Row, setting: Setting, inputs: Mapping[str, Any]) -> float:
    """Return the distance of what the two sides make of the same tensors; infinite where one does not run."""
    made, expected = (side.run_part(inputs, [row.tensor]) for side in (setting.candidate, setting.reference))
    if made is None or expected is None:
        return math.inf
    return distance(made[row.tensor], expected[row.tensor])


def _other(array: Any) -> Any:
    """Return a tensor with its values in other places, and smaller ones where they are real."""
    values = to_numpy(array)
    turned = np.flip(values)
    return np.ascontiguousarray(turned * values.dtype.type(0.75) if is_floating(values.dtype) else turned)
