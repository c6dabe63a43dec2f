"""Faults of operators that are right one by one: which probe, a further output of the model, prevents the fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from polycmp.graph import GraphNode, ModelGraph
from polycmp.tensors import Feed
from polycmp_layerwise.observable import a_few
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_locate.result import FUSION, Located

Tensors = Mapping[str, Any]
#: Trials with the whole model after which the probes found so far have to do.
_TRIALS = 48


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
            return tuple(_fewest(group, helps, lambda: left > 0))
    return ()


def _fewest(probes: list[str], helps: Callable[[Sequence[str]], bool], goes_on: Callable[[], bool]) -> list[str]:
    """Return a small part of some probes that helps as well, by leaving out ever smaller pieces."""
    size = len(probes) // 2
    while size and goes_on():
        at = 0
        while at < len(probes) and goes_on():
            rest = probes[:at] + probes[at + size :]
            if rest and helps(rest):
                probes = rest
            else:
                at += size
        size = min(size // 2, len(probes) - 1)
    return probes


def around(graph: ModelGraph, tensor: str) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator that makes a tensor and those that read it."""
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    return maker, [node for node in graph.nodes if tensor in node.inputs]


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
        f"{'is an output' if one else 'are outputs'}; that "
        f"breaks its fusion of {' with '.join(names)}{'' if one else f' and {len(probes) - 1} more'}, so the fused "
        f"operator is wrong: {was} is {probe.probed_error:.2g} with probes"
    )
