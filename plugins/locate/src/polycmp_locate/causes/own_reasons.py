"""A program's own reasons why its export is wrong, where the reference is what the model was exported from.

Asked of an operator that is accused. It takes one run of the candidate.
"""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.graph import OwnGraph
from polycmp.tensors import Feed
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.view import file_graph
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import Judged, Reason


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield the reference's own reasons why its export is wrong, if it is what the model was exported from."""
    row, graph = judged.accused, setting.reference.graph
    program = file_graph(graph)
    if row is None or not isinstance(program, OwnGraph) or not isinstance(row.node, PartNode):
        return
    outputs = setting.candidate.run_whole(feed, [row.tensor]) or {}
    if row.tensor in outputs:
        yield from map(Reason, program.causes(row.node.counterpart, outputs[row.tensor], feed))
