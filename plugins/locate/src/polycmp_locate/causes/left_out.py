"""Operators that a backend leaves out although they change what they read, such as two Casts behind each other.

Asked of outputs that probing makes right, and of Casts to a coarser type wherever looking inside takes the error away:
rounding, too, would explain that they are not rounded. It takes two runs of each pair of tensors around a probe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from polycmp.graph import GraphNode
from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed, same_bits, to_numpy
from polycmp_locate.causes.case import Case
from polycmp_locate.setting import Tensors
from polycmp_locate.trials.flow import Flow
from polycmp_locate.trials.fusion import around
from polycmp_locate.values.judged import FUSION, Fused, Judged
from polycmp_locate.values.measured import Row

#: Number of probes around which operators are looked for.
_PROBES = 8


@dataclass(frozen=True)
class LeftOut:
    """Operators that a backend leaves out: what they make is what they read, although they change it.

    Attributes:
        nodes: The operators.
        input: The tensor that they read.
        output: The tensor that they make.
        label: The backend.
    """

    nodes: tuple[GraphNode, ...]
    input: str
    output: str
    label: str

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del judged, candidate, reference
        them = "both" if len(self.nodes) == 2 else "them"
        return (
            f"{FUSION}: with {Fused(self.nodes).labels} together, {self.output!r} equals {self.input!r} bit by bit: "
            f"{self.label} leaves {them} out"
        )


def ask(case: Case) -> Judged | None:
    """Return the verdict on operators that a backend leaves out; None if there are none."""
    whole, side = case.whole, case.fusing_side
    if side is not None:
        outputs, error, probes = whole.beyond, case.probe.error, case.probes
    elif whole.failing and case.is_gone:
        side, outputs = case.moved_side, whole.failing
        error, probes = max(outputs.values()), tuple(_coarser_casts(case.rows))
    else:
        return None
    removes = whole.removes(side, outputs, error)
    left_out = _find(whole.sides(side), whole.feed, probes, outputs, lambda result: not removes(result))
    if left_out is None:
        return None
    rows = {row.tensor: row for row in case.rows}
    return case.nobody(
        verdict=FUSION,
        first_bad=rows.get(left_out.output),
        last_good=rows.get(left_out.input),
        fused=Fused(left_out.nodes),
        cause=left_out,
    )


def _coarser_casts(rows: Sequence[Row]) -> list[str]:
    """Return the tensors that a Cast rounds to a coarser type and another Cast reads: a backend may leave both out."""
    units, casts = {row.tensor: row.unit for row in rows}, [row for row in rows if row.node.op_type == "Cast"]
    read = {name for row in casts for name in row.node.inputs}
    return [
        row.tensor
        for row in casts
        if row.tensor in read and row.unit > max((units.get(name, 0.0) for name in row.node.inputs), default=0.0)
    ]


def _find(
    sides: tuple[PartitionedRun, PartitionedRun],
    feed: Feed,
    probes: Sequence[str],
    outputs: Collection[str],
    is_wrong: Callable[[Tensors], bool],
) -> LeftOut | None:
    """Find the operators around a probe that a backend leaves out, if it does so where it is not looked between them.

    Args:
        sides: The backend that probes move, and the other.
        feed: The inputs.
        probes: Tensors between such operators: those whose probing prevents the difference, or results of Casts.
        outputs: The outputs in question.
        is_wrong: Predicate over those outputs: whether most of their error is there.
    """
    fusing, other = sides
    flow = Flow(fusing.graph.nodes)
    final = list(outputs)
    for probe in probes[:_PROBES]:
        maker, _ = around(fusing.graph, probe)
        near = flow.behind([probe]) | flow.behind(flow.behind([probe]))
        pairs = [
            (read, computed) for read in (maker.inputs if maker is not None else ()) for computed in near - {*final}
        ]
        for read, computed in pairs:
            if not (read in flow.computed or read in feed) or computed in fusing.graph.opaque:
                continue
            names = [computed, *([] if read in feed else [read])]
            tensors, expected = fusing.run_whole(feed, [*final, *names]), other.run_whole(feed, names)
            if tensors is None or expected is None or not is_wrong({name: tensors[name] for name in final}):
                continue
            if _same({**feed, **tensors}, read, computed) and not _same({**feed, **expected}, read, computed):
                between = flow.before(computed, {read}) - {read}
                nodes = [node for node in fusing.graph.nodes if not between.isdisjoint(node.outputs)]
                return LeftOut(tuple(nodes), read, computed, fusing.label)
    return None


def _same(tensors: Tensors, one: str, two: str) -> bool:
    """Return whether two tensors are equal to the last bit."""
    return same_bits(to_numpy(tensors[one]), to_numpy(tensors[two]))
