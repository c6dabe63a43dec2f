"""Search for the fewest layers to keep in float, in few runs.

All of it supposes that one more layer in float never hurts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polycmp_locate.ddmin import fewest_passing, least_passing

Passes = Callable[[frozenset[int]], bool]


class OutOfRuns(Exception):  # noqa: N818 - it is no error but the end of a search
    """Raised by `passes` where no further run is allowed."""


@dataclass(frozen=True)
class SmallestSet:
    """Result of a search.

    Attributes:
        layers: The layers to keep; None if not even all of them are enough.
        fewest: Whether none of them can be left out, as far as was tried.
    """

    layers: frozenset[int] | None
    fewest: bool = True


def in_order(order: Sequence[int], passes: Passes, *, linear: bool) -> SmallestSet:
    """Return the first layers of an order, as few as pass.

    Args:
        order: The layers.
        passes: Says whether the model passes with these in float.
        linear: Whether to try one number after the other, instead of halving.
    """
    size = fewest_passing(lambda count: passes(frozenset(order[:count])), len(order), linear=linear)
    return SmallestSet(None if size is None else frozenset(order[:size]))


def guided(order: Sequence[int], passes: Passes, first: int = 1) -> SmallestSet:
    """Return a minimal set of layers, searched in an order in which those needed come early.

    The number of layers doubles until the model passes, then is halved between failing and passing; what is left is
    made smaller from its end: layers go in ever larger groups as long as the model passes without them. With k layers
    needed that stand first in the order, it takes about k + 2 log2 k runs.

    Args:
        order: The layers, those most likely needed first.
        passes: Says whether the model passes with these in float; may raise `OutOfRuns`.
        first: Number of layers to begin with.
    """
    best_passing = _BestPassing(passes)
    try:
        if best_passing(frozenset()):
            return SmallestSet(frozenset())
        size = _grow(order, best_passing, first)
        if size is None:
            return SmallestSet(None)
        return SmallestSet(_shrink(list(order[: size - 1]), frozenset(order[size - 1 : size]), best_passing))
    except OutOfRuns:
        return SmallestSet(best_passing.best, fewest=False)


def among(known: Sequence[int], passes: Passes) -> SmallestSet | None:
    """Return a minimal set among layers that are known to break a model; None if all of them are not enough.

    Nothing is run without any of them, unless none is needed. With all of k layers needed, it takes 1 + k runs.

    Args:
        known: The layers, the worst first.
        passes: Says whether the model passes with these in float; may raise `OutOfRuns`.
    """
    best_passing = _BestPassing(passes)
    try:
        return SmallestSet(_shrink(list(known), frozenset(), best_passing)) if best_passing(frozenset(known)) else None
    except OutOfRuns:
        return SmallestSet(best_passing.best, fewest=False)


class _BestPassing:
    """Remembers the fewest layers with which the model passed.

    Args:
        passes: Says whether the model passes with these in float.
    """

    def __init__(self, passes: Passes) -> None:
        self.best: frozenset[int] | None = None
        self._passes = passes

    def __call__(self, layers: frozenset[int]) -> bool:
        passed = self._passes(layers)
        if passed and (self.best is None or len(layers) < len(self.best)):
            self.best = layers
        return passed


def _grow(order: Sequence[int], passes: Passes, first: int) -> int | None:
    """Return the smallest number of first layers that passes; None if not even all do."""
    low, high = 0, min(max(first, 1), len(order))
    while not passes(frozenset(order[:high])):
        if high == len(order):
            return None
        low, high = high, min(high * 2, len(order))
    return _halve(order, passes, low, high, frozenset())


def _halve(order: Sequence[int], passes: Passes, low: int, high: int, fixed: frozenset[int]) -> int:
    """Return the smallest number of first layers that passes: it fails with `low`, and passes with `high`."""
    return least_passing(lambda count: passes(fixed | set(order[:count])), low, high)


def _shrink(rest: list[int], needed: frozenset[int], passes: Passes) -> frozenset[int]:
    """Return the layers of `rest` and `needed` of which none can be left out; with all of them the model passes."""
    step = 1
    while rest:
        size = max(len(rest) - step, 0)
        if passes(needed | set(rest[:size])):
            del rest[size:]
            step *= 2
            continue
        size = _halve(rest, passes, size, len(rest), needed)
        needed |= {rest[size - 1]}
        del rest[size - 1 :]
        step = 1
    return needed
