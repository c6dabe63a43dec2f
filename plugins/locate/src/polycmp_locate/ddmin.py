"""Minimizing by tests (delta debugging): the fewest items for which a test still passes, and the smallest number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["ddmin", "fewest_passing", "least_passing", "other_part"]

T = TypeVar("T")


def ddmin(
    things: Sequence[T], does: Callable[[Sequence[T]], bool], goes_on: Callable[[], bool] = lambda: True
) -> list[T]:
    """Minimise a list by leaving out ever smaller pieces (A. Zeller, Simplifying Failure-Inducing Input, 2002).

    Args:
        things: The list; all of it together passes the test.
        does: Tests a part of the list, in its order; never an empty one.
        goes_on: Tells whether another test may be made.

    Returns:
        A part that passes, of which no single item can go while the others stay, unless the tests ran out.
    """
    smallest, size = list(things), len(things) // 2
    while size and goes_on():
        start, length_before = 0, len(smallest)
        while start < len(smallest) and goes_on():
            rest = smallest[:start] + smallest[start + size :]
            if rest and does(rest):
                smallest = rest
            else:
                start += size
        # What went may have been all that another one was needed for.
        again = size == 1 and len(smallest) < length_before
        size = min(1 if again else size // 2, len(smallest) - 1)
    return smallest


def other_part(
    things: Sequence[T],
    part: Sequence[T],
    does: Callable[[Sequence[T]], bool],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[T]:
    """Return another part of a list that passes a test, and has nothing of the one that does; empty if none has.

    Args:
        things: The list.
        part: The part that is known to pass.
        does: Tests a part of the list, in its order.
        goes_on: Tells whether another test may be made.
    """
    rest = [thing for thing in things if thing not in part]
    return ddmin(rest, does, goes_on) if rest and goes_on() and does(rest) else []


def least_passing(passes: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number that passes a test, by bisection; supposes that from there on all do.

    Args:
        passes: Tests a number between the two.
        low: One that fails.
        high: One that passes.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def fewest_passing(passes: Callable[[int], bool], count: int, *, linear: bool) -> int | None:
    """Return the smallest number that passes a test; None if not even the largest does.

    Args:
        passes: Tests a number.
        count: The largest.
        linear: Whether to try one number after the other instead of halving, which supposes that more never hurt.
    """
    if passes(0):
        return 0
    if linear:
        return next((size for size in range(1, count + 1) if passes(size)), None)
    return least_passing(passes, 0, count) if passes(count) else None
