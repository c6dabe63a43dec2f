"""Faults of operators that are right one by one: which probe, a further output of the model, prevents the fault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.ddmin import ddmin
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.trials.flow import Flow
from polycmp_locate.trials.rewriting import rewrites
from polycmp_locate.trials.switches import Cured, find_cure
from polycmp_locate.values.judged import Fused, LeftOut, Turned
from polycmp_locate.values.measured import Row

Tensors = Mapping[str, Any]
#: Trials with the whole model after which the probes found so far have to do.
_TRIALS = 48
#: Number of tensors after a fusion that are looked at, each by three runs.
_TURNS = 8
#: Operators that a backend rewrites in one go, from which on naming them tells nothing.
_MOST = 24


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
        removes: Predicate over final outputs: whether most of their error is gone.
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
            return tuple(ddmin(group, helps, lambda: left > 0))
    return ()


def around(graph: ModelGraph, tensor: str) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator that makes a tensor and those that read it."""
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    return maker, [node for node in graph.nodes if tensor in node.inputs]


def rounding_that_turns(
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


def coarser_casts(rows: Sequence[Row]) -> list[str]:
    """Return the tensors that a Cast rounds to a coarser type and another Cast reads: a backend may leave both out."""
    units, casts = {row.tensor: row.unit for row in rows}, [row for row in rows if row.node.op_type == "Cast"]
    read = {name for row in casts for name in row.node.inputs}
    return [
        row.tensor
        for row in casts
        if row.tensor in read and row.unit > max((units.get(name, 0.0) for name in row.node.inputs), default=0.0)
    ]


def left_out(
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
    for probe in probes[:_TURNS]:
        maker, _ = around(fusing.graph, probe)
        near = flow.behind([probe]) | flow.behind(flow.behind([probe]))
        pairs = [(read, made) for read in (maker.inputs if maker is not None else ()) for made in near - {*final}]
        for read, made in pairs:
            if not (read in flow.made or read in feed) or made in fusing.graph.opaque:
                continue
            asked = [made, *([] if read in feed else [read])]
            seen, expected = fusing.run_whole(feed, [*final, *asked]), other.run_whole(feed, asked)
            if seen is None or expected is None or not is_wrong({name: seen[name] for name in final}):
                continue
            if _same({**feed, **seen}, read, made) and not _same({**feed, **expected}, read, made):
                between = flow.before(made, {read}) - {read}
                nodes = [node for node in fusing.graph.nodes if not between.isdisjoint(node.outputs)]
                return LeftOut(tuple(nodes), read, made, fusing.label)
    return None


def _same(tensors: Tensors, one: str, two: str) -> bool:
    """Return whether two tensors are equal to the last bit."""
    a, b = to_numpy(tensors[one]), to_numpy(tensors[two])
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def find_fused(partitioned_run: PartitionedRun, probes: Sequence[str], cured: Cured) -> Fused | None:
    """Find the operators that a backend computes as others, and the setting that prevents it; None if nothing tells.

    Args:
        partitioned_run: The backend.
        probes: Tensors whose probing prevents the fault; none if only cutting the model does.
        cured: Says whether a backend that was told otherwise is right.
    """
    variants = partitioned_run.variants
    if variants is None or partitioned_run.compiles:
        return None
    cure = find_cure(partitioned_run, cured)
    rewritten = variants.rewritten()  # one run more, where probing took many
    if rewritten is None:
        return Fused((), cure=cure) if cure is not None else None
    found = rewrites(variants.graph, rewritten)
    if cure is not None:
        kept = {item.outputs for item in rewrites(variants.graph, variants.rewritten(cure.switch, cure.value) or ())}
        found = [item for item in found if item.outputs not in kept] or found
    names = _own_names(partitioned_run, probes)
    chosen = next((item for item in found if any(map(item.holds, names))), None)
    if chosen is None:
        touching = [item for item in found if not {*item.inputs, *item.outputs}.isdisjoint(names)]
        chosen = next(iter(touching if names else found if cure is not None else ()), None)
    if chosen is None or len(chosen.replaced) > _MOST:
        return Fused((), cure=cure) if cure is not None else None
    return Fused(chosen.replaced, chosen.by, cure)


def _own_names(partitioned_run: PartitionedRun, names: Sequence[str]) -> list[str]:
    """Return tensors by the names that they have in the backend's own model."""
    graph = partitioned_run.graph
    return [graph.own[name] for name in names] if isinstance(graph, SharedGraph) else list(names)
