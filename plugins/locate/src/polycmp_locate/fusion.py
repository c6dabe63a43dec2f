"""Faults of operators that are right one by one: which probe, a further output of the model, prevents the fault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from polycmp.graph import GraphNode, ModelGraph
from polycmp.tensors import Feed
from polycmp_layerwise.observable import a_few
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_locate.between_steps import Ties
from polycmp_locate.decisions import worth_running
from polycmp_locate.fewest import fewest
from polycmp_locate.flow import Flow
from polycmp_locate.measure import distance
from polycmp_locate.result import FUSION, WITHIN_ROUNDING, Located, Row

Tensors = Mapping[str, Any]
#: Trials with the whole model after which the probes found so far have to do.
_TRIALS = 48
#: Tensors behind a fusion that are looked at, each by three runs.
_TURNS = 8


def find_probes(
    partitioned_run: PartitionedRun,
    feed: Feed,
    groups: Sequence[Sequence[str]],
    final: Sequence[str],
    removes: Callable[[Tensors], bool],
) -> tuple[str, ...]:
    """Return the tensors, as few as few trials find, that as further outputs make the final outputs right.

    Args:
        partitioned_run: The backend in question.
        feed: The inputs.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        final: The model's outputs.
        removes: Says of final outputs whether most of their error is gone.
    """
    left = _TRIALS

    def helps(probes: Sequence[str]) -> bool:
        nonlocal left
        left -= 1
        made = partitioned_run.run_whole(feed, list(dict.fromkeys([*final, *probes])))
        return made is not None and removes({name: made[name] for name in final})

    wanted = [[name for name in group if name not in final] for group in groups]
    for group in [*wanted, list(chain.from_iterable(wanted))] if len(wanted) > 1 else wanted:
        if group and left > 0 and helps(group):
            return tuple(fewest(group, helps, lambda: left > 0))
    return ()


def around(graph: ModelGraph, tensor: str) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator that makes a tensor and those that read it."""
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    return maker, [node for node in graph.nodes if tensor in node.inputs]


@dataclass(frozen=True)
class Turned:
    """A tensor that a fused kernel leaves within rounding, and of which a decision behind it makes another result.

    Attributes:
        row: The tensor.
        error: How far the backend's is from the other's without the probes that prevent the difference, relative.
        limit: What rounding explains of it.
    """

    row: Row
    error: float
    limit: float

    @property
    def in_words(self) -> str:
        """What a fused kernel rounds, and what follows."""
        return (
            f"{self.row.tensor!r}, which {self.row.node.label} makes, is off by {self.error:.2g} relative, where "
            f"rounding explains {self.limit:.2g}; what is behind decides between nearly equal values, and the outputs "
            "differ from there"
        )


def rounding_that_turns(
    sides: tuple[PartitionedRun, PartitionedRun],
    feed: Feed,
    rows: Sequence[Row],
    probes: Sequence[str],
    outputs: Collection[str],
    is_wrong: Callable[[Tensors], bool],
) -> Turned | None:
    """Return where the fused operators are within rounding although outputs behind them are not; None if nowhere.

    Backends may keep more digits in a fused kernel than a type inside it has. A tensor behind it is looked at by a
    probe that leaves the outputs wrong. If it is within the rounding of one operator, and the other backend makes the
    same wrong outputs of it, then the operators behind decide between nearly equal values, and nobody is wrong.

    Args:
        sides: The backend whose fusion probes prevent, and the other.
        feed: The inputs.
        rows: The tensors, in the order of the graph.
        probes: What prevents the difference.
        outputs: The outputs in question.
        is_wrong: Says of those outputs whether most of their error is there.
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
            return Turned(row, error, limit)
    return None


def describe_turned(found: Located, label: str, turned: Turned | Ties) -> None:
    """Write down that fused operators round otherwise, and that the outputs differ because something grows from it."""
    found.verdict = WITHIN_ROUNDING
    found.sentence = f"{WITHIN_ROUNDING}: no operator is wrong; where {label} fuses operators, {turned.in_words}"


def describe_fusion(found: Located, partitioned_run: PartitionedRun, probes: tuple[str, ...]) -> None:
    """Write down which fused operators are wrong.

    Args:
        found: What is known so far.
        partitioned_run: The backend in question.
        probes: What prevents the fault; empty if only cutting the model does.
    """
    found.verdict, found.first_bad, found.origin = FUSION, None, None
    probe = found.probe
    if probe is None:
        return
    probe.kept = probes
    was = f"the outputs' error, {probe.error:.2g} relative,"
    if not probes:
        probe.sentence += "; no probes in the whole model prevent it, only cutting the model does"
        found.sentence = (
            f"{FUSION}: {was} is {probe.probed_error:.2g} once {partitioned_run.label} computes the model in parts; "
            "the operators are right one by one, and wrong together"
        )
        return
    maker, readers = around(partitioned_run.graph, probes[0])
    names = [node.label for node in [maker, *readers] if node is not None]
    found.first_bad = next((row for row in found.rows if readers and row.tensor in readers[0].outputs), None)
    found.last_good = next((row for row in found.rows if row.tensor == probes[0]), None)
    one = len(probes) == 1
    found.sentence = (
        f"{FUSION}: {partitioned_run.label} is right once {a_few(probes)} "
        f"{'is an output' if one else 'are outputs'}; that keeps apart {' and '.join(names)}"
        f"{'' if one else f' and {len(probes) - 1} more'}, so computing them together (a fused operator, or "
        f"shared memory) is wrong: {was} is {probe.probed_error:.2g} with probes"
    )
