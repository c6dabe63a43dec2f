"""Operators run alone on a backend that compiles: many in one runner, since each runner takes seconds to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed

#: Attempts to compile operators together, where not all of them can be at once; each may take a minute.
_ATTEMPTS = 8


def run_together(candidate: PartitionedRun, feeds: Mapping[str, Feed], memory: int) -> dict[str, dict[str, Any] | None]:
    """Run operators, each on tensors of its own, in few models; what is refused together is tried in halves.

    Args:
        candidate: A backend that can join parts.
        feeds: Inputs of each operator, by the name of its output.
        memory: Bytes that what one model reads may take; a single operator may read more.

    Returns:
        Outputs by operator, None for one that the backend cannot run; without those that there was no attempt for.
    """
    ran: dict[str, dict[str, Any] | None] = {}
    waiting = _groups(feeds, memory)
    for _ in range(max(_ATTEMPTS, len(waiting))):
        if not waiting:
            break
        names = waiting.pop(0)
        outputs = candidate.run_parts({name: (feeds[name], [name]) for name in names})
        if outputs is not None:
            ran.update(outputs)
        elif len(names) == 1:
            ran[names[0]] = None
        else:
            middle = len(names) // 2
            waiting += [names[:middle], names[middle:]]
    return ran


def _groups(feeds: Mapping[str, Feed], memory: int) -> list[list[str]]:
    """Return the operators in groups that read no more than so many bytes, as far as a single one does not."""
    groups: list[list[str]] = []
    room = 0
    for name, feed in feeds.items():
        size = 2 * sum(int(getattr(array, "nbytes", 0)) for array in feed.values())  # what they make takes as much
        if not groups or size > room:
            groups.append([])
            room = memory
        groups[-1].append(name)
        room -= size
    return groups
