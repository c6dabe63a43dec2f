"""A decision between nearly equal values that what a fused kernel rounds otherwise turns: no fault.

Asked of outputs that probing makes right. It takes the probes, and three runs of each of a few tensors after them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed
from polycmp_locate.causes.case import Case
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.setting import Tensors
from polycmp_locate.trials.flow import Flow
from polycmp_locate.values.judged import WITHIN_ROUNDING, Judged
from polycmp_locate.values.measured import Row

if TYPE_CHECKING:
    from polycmp_locate.values.located import Located

#: Number of tensors after a fusion that are looked at, each by three runs.
_TURNS = 8


@dataclass(frozen=True)
class Turned:
    """A tensor that a fused kernel leaves within rounding, and of which a decision after it makes another result.

    Attributes:
        row: The tensor.
        error: Difference of the two backends' values without the probes that prevent it, relative.
        limit: Largest error that rounding explains.
        label: The backend that fuses.
    """

    row: Row
    error: float
    limit: float
    label: str

    def sentence(self, found: Located) -> str:
        """Return the verdict as a sentence."""
        del found
        return (
            f"{WITHIN_ROUNDING}: no operator is wrong; where {self.label} fuses operators, {self.row.tensor!r}, the "
            f"output of {self.row.node.label}, is off by {self.error:.2g} relative, where rounding explains "
            f"{self.limit:.2g}; what follows decides between nearly equal values, and the outputs differ from there on"
        )


def ask(case: Case) -> Judged | None:
    """Return the verdict on a decision that rounding inside a fused kernel turns; None if it is none."""
    side, whole = case.fusing_side, case.whole
    if side is None:
        return None
    removes = whole.removes(side, case.beyond, case.probe.error)
    turned = _find(whole.sides(side), whole.feed, case.rows, case.probes, case.beyond, lambda made: not removes(made))
    return None if turned is None else case.nobody(verdict=WITHIN_ROUNDING, cause=turned)


def _find(
    sides: tuple[PartitionedRun, PartitionedRun],
    feed: Feed,
    rows: Sequence[Row],
    probes: Sequence[str],
    outputs: Collection[str],
    is_wrong: Callable[[Tensors], bool],
) -> Turned | None:
    """Find the tensor where fused operators are within rounding although outputs after them are not; None if none.

    Backends may keep more digits in a fused kernel than a type inside it has. A tensor after it is looked at by a
    probe that leaves the outputs wrong. If it is within the rounding of one operator, and the other backend makes the
    same wrong outputs of it, then the operators after it decide between nearly equal values, and no backend is wrong.

    Args:
        sides: The backend whose fusion probes prevent, and the other.
        feed: The inputs.
        rows: The tensors, in the order of the graph.
        probes: Tensors whose probing prevents the difference.
        outputs: The outputs in question.
        is_wrong: Predicate over those outputs: whether most of their error is there.
    """
    fusing, other = sides
    flow = Flow(fusing.graph.nodes)
    final = list(outputs)
    near = [*probes, *flow.behind(probes), *flow.behind(flow.behind(probes))]
    for row in [row for row in rows if row.tensor in near and row.unit and row.tensor not in final][:_TURNS]:
        if any(item.in_steps for item in rows if item.tensor in flow.before(row.tensor)):
            return None  # a step of a scale is too coarse a rounding to excuse anything
        made = fusing.run_whole(feed, [*final, row.tensor])
        if made is None or not is_wrong({name: made[name] for name in final}):
            continue
        seen = made[row.tensor]
        expected, turned = other.run_whole(feed, [row.tensor]), other.run_part({**feed, row.tensor: seen}, final)
        if expected is None or turned is None:
            continue
        error, limit = distance(seen, expected[row.tensor]), worth_running(max(row.unit, row.path_unit))
        if 0.0 < error <= limit and is_wrong(turned):
            return Turned(row, error, limit, fusing.label)
    return None
