"""A side that makes other numbers in each run on the same inputs: which one, and where that begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed
from polycmp_locate.rounding.difference import distance
from polycmp_locate.trials.probing import SHARE
from polycmp_locate.values.judged import Unsteady

Tensors = Mapping[str, Any]


def find_unsteady(
    partitioned_run: PartitionedRun,
    feed: Feed,
    made: Tensors,
    errors: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    rounding: Callable[[str], float],
    again: Tensors | None = None,
) -> Unsteady | None:
    """Find the tensor at which two runs of a backend differ, if by so much that it matters; None if they do not.

    Args:
        partitioned_run: The backend.
        feed: The inputs.
        made: Outputs of the first run.
        errors: Outputs that are off, with the relative error between both sides.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        rounding: Relative difference of a tensor that is not worth mentioning.
        again: Outputs of the second run, where there was one; None to run it here.
    """
    if again is None:
        again = partitioned_run.run_part(feed, list(made)) or {}
    gaps = {name: distance(again[name], made[name]) for name in errors if name in again and name in made}
    moved = max((gap for name, gap in gaps.items() if gap > SHARE * min(errors[name], 1.0)), default=0.0)
    if not moved:
        return None
    for group in groups:
        one, two = _twice(partitioned_run, feed, group)
        for name in group:
            gap = distance(one[name], two[name]) if name in one and name in two else 0.0
            if gap > rounding(name):
                return Unsteady(partitioned_run.label, moved, name, gap)
    return Unsteady(partitioned_run.label, moved)


def _twice(partitioned_run: PartitionedRun, feed: Feed, names: Sequence[str]) -> Sequence[Tensors]:
    """Return tensors of two runs: in runners of their own, or in one where making a runner takes long."""
    if partitioned_run.compiles:
        made = partitioned_run.run_part_repeatedly(feed, names, 2)
    else:
        made = [partitioned_run.run_part(feed, names) or {} for _ in range(2)]
    return made if len(made) == 2 else ({}, {})
