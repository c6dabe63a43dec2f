"""A constant in an export in place of a tensor that only the reference reads: frozen from the example inputs.

Asked of an operator that is accused and reads less in the candidate. It takes three runs of parts of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polycmp.layerwise import a_few
from polycmp.tensors import Feed, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import BEYOND_EIGHT_BITS
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import Judged, Reason


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield a note on tensors that only the reference reads, where other values of them give another tensor."""
    row = judged.accused
    if row is None or not isinstance(row.node, PartNode) or not row.node.only_reference or row.node.only_candidate:
        return
    inner = [name for name in row.node.inputs if name not in feed]
    shown = (setting.reference.run_whole(feed, inner) if inner else {}) or {}
    tensors = {**shown, **feed}
    if not all(name in tensors for name in row.node.inputs):
        return
    inputs = {name: tensors[name] for name in row.node.inputs}
    changed = {name: _other(inputs[name]) for name in row.node.only_reference}
    before = setting.reference.run_part(inputs, [row.tensor])
    after = setting.reference.run_part({**inputs, **changed}, [row.tensor])
    if before is None or after is None or distance(after[row.tensor], before[row.tensor]) <= BEYOND_EIGHT_BITS:
        return
    read, labels = a_few(row.node.only_reference), (setting.candidate.label, setting.reference.label)
    yield Reason(
        f"with other values of {read} {labels[1]} makes another {row.tensor!r}, and {labels[0]} "
        "does not read it: a constant stands there, frozen from the example inputs of the export"
    )


def _other(array: Any) -> Any:
    """Return a tensor with its values in other places, and smaller ones where they are real."""
    values = to_numpy(array)
    turned = np.flip(values)
    return np.ascontiguousarray(turned * values.dtype.type(0.75) if is_floating(values.dtype) else turned)
