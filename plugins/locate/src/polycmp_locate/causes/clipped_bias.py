"""A bias that a quantiser clipped to 32 bits, since its steps are a product of two small scales.

Asked of an operator that is accused. It takes no run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polycmp.graph import weight_values
from polycmp.tensors import Feed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import SharedGraph, behind
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import Judged, Reason

#: Bytes of a weight that is no bias any more (choice).
_MAX_BIAS_BYTES = 1 << 20


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield a note on whole numbers that the blamed operator reads as a bias and that are at the end of their type.

    Quantisers write a bias in steps of the product of two scales; where these are small, 32 bits do not hold it.
    """
    del feed
    row, graph = judged.accused, setting.candidate.graph
    if row is None or not isinstance(graph, SharedGraph) or not isinstance(row.node, PartNode):
        return
    side, seen = graph.side, {name for node in behind(graph, row.tensor, row.node.inputs) for name in node.inputs}
    held = weight_values(
        side.graph, [name for name in sorted(seen) if side.graph.weights.get(name, _MAX_BIAS_BYTES) < _MAX_BIAS_BYTES]
    )
    for name, values in held.items():
        ends = np.iinfo(np.int32)
        count = int(np.count_nonzero((values == ends.min) | (values == ends.max))) if values.dtype == np.int32 else 0
        if count:
            yield Reason(
                f"{name!r} holds the end of int32 {count} times in {values.size} values: what the quantiser "
                "wrote there is beyond 32 bits and was clipped; a coarser scale of the weights helps, or a float bias"
            )
