"""Delta debugging: the fewest of some things that still do what all of them do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def ddmin(
    things: Sequence[T], does: Callable[[Sequence[T]], bool], goes_on: Callable[[], bool] = lambda: True
) -> list[T]:
    """Minimise a list by leaving out ever smaller pieces (A. Zeller, Simplifying Failure-Inducing Input, 2002).

    Args:
        things: The list; all of it together passes the test.
        does: Tests a part of the list, in its order.
        goes_on: Tells whether another test may be made.

    Returns:
        A part that passes, of which no single item can go while the others stay, unless the tests ran out.
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
