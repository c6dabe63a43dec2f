"""Operators run alone on a backend that compiles: many in one runner, since each runner takes seconds to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.tensors import Feed
from polycmp_layerwise.partitioned_run import PartitionedRun

#: Attempts to compile operators together, where not all of them can be at once; each may take a minute.
_ATTEMPTS = 8


def run_together(candidate: PartitionedRun, feeds: Mapping[str, Feed]) -> dict[str, dict[str, Any] | None]:
    """Run operators, each on tensors of its own, in few models; what is refused together is tried in halves.

    Args:
        candidate: A backend that can join parts.
        feeds: What an operator reads, by the tensor that it makes.

    Returns:
        What each operator made, None for one that the backend cannot run; without those that there was no attempt for.
    """
    ran: dict[str, dict[str, Any] | None] = {}
    waiting = [list(feeds)] if feeds else []
    for _ in range(_ATTEMPTS):
        if not waiting:
            break
        names = waiting.pop(0)
        made = candidate.run_parts({name: (feeds[name], [name]) for name in names})
        if made is not None:
            ran.update(made)
        elif len(names) == 1:
            ran[names[0]] = None
        else:
            middle = len(names) // 2
            waiting += [names[:middle], names[middle:]]
    return ran
