"""The fewest of some things that do what all of them do: delta debugging by leaving out ever smaller pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(
    things: Sequence[T], does: Callable[[Sequence[T]], bool], goes_on: Callable[[], bool] = lambda: True
) -> list[T]:
    """Return a small part of some things that does as well, none of which can go while the others stay.

    Args:
        things: The things; all of them together do.
        does: Says of some of them, in their order, whether they do.
        goes_on: Says whether there is time for another trial.
    """
    kept, size = list(things), len(things) // 2
    while size and goes_on():
        at = 0
        while at < len(kept) and goes_on():
            rest = kept[:at] + kept[at + size :]
            if rest and does(rest):
                kept = rest
            else:
                at += size
        size = min(size // 2, len(kept) - 1)
    return kept
