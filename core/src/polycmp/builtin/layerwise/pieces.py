"""Division of operators into pieces that a compiling backend accepts, and an estimate of how long compiling takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from polycmp.builtin.judging.structure import static_tensors
from polycmp.graph import ModelGraph

#: Operators whose outputs tell the shape of what they read, and nothing of its content.
_SHAPES = frozenset({"Shape", "Size"})
#: Number of pieces to begin with.
_PARTS = 8
#: Successes at a size before the next larger one is tried, and failures after which it no longer is.
_STREAK = 2
#: Share of the attempts that may be spent at the beginning, where most is learnt.
_AHEAD = 0.25
#: Factor by which a search may make more operators than it should, before what is left runs as one piece.
_TOO_MANY = 1.5


class Piece(NamedTuple):
    """Consecutive operators that ran together.

    Attributes:
        start: Position of the first operator.
        stop: Position after the last one.
        shown: Whether it gives out all that is wanted of it, not only what others need.
    """

    start: int
    stop: int
    shown: bool


def run_in_pieces(
    works: Callable[[Piece], bool],
    start: int,
    stop: int,
    crossing: Callable[[int], int | None] = lambda _: 1,
    most: float = math.inf,
    smallest: int = 1,
) -> bool:
    """Run operators from first to last in pieces as large as a backend takes; return whether all of them ran.

    Called after all of them together have failed. It begins with an eighth of them, as a failure of more would teach no
    more and take longer. A piece that fails is tried in halves, down to single operators, of which nothing but what
    others need is then asked; pieces grow again where they work. Where attempts have made more than these operators'
    share, a piece is not divided further, and gives out only what others need.

    Args:
        works: Runs a piece that follows the last one that worked; an attempt takes as long as it has operators.
        start: Position of the first operator.
        stop: Position after the last one.
        crossing: Number of tensors that cross a cut before the operator at a position; None if it cannot be cut.
        most: Number of operators that all attempts together should make; after half as many again, what is left runs
            as one piece.
        smallest: A piece of no more operators than this is not divided.
    """
    attempted, operators = 0, stop - start
    cuts = {place: count for place in range(start + 1, stop) if (count := crossing(place)) is not None}
    cuts[stop] = 0
    size, streak, position, failed = max(1, operators // _PARTS), 0, start, Counter[int]()
    while position < stop:
        if attempted > _TOO_MANY * most:
            return _hidden(works, cuts, position, stop) is not None
        end = _end(cuts, position, size)
        attempted += end - position
        if works(Piece(position, end, True)):
            position, streak = end, streak + 1
            if streak >= _STREAK and failed[2 * size] < _STREAK:
                size, streak = 2 * size, 0
            continue
        failed[size] += 1
        streak = 0
        late = attempted > most * (_AHEAD + (1 - _AHEAD) * (end - start) / operators)
        if not late and end - position > smallest and end != _end(cuts, position, 1):
            size = max(1, min(size, end - position) // 2)
            continue
        reached = _hidden(works, cuts, position, end)
        if reached is None:
            return False
        attempted += reached - position
        position = reached
    return True


def _end(cuts: Mapping[int, int], position: int, size: int) -> int:
    """Find the end of a piece of about a size: the cut that the fewest tensors cross.

    It is at most so large, and at least half of it, as far as there are places for a cut.
    """
    behind = [place for place in cuts if place > position]
    within = [place for place in behind if place <= position + size]
    large = [place for place in within if 2 * (place - position) > size] or within[-1:]
    return min(large, key=lambda place: (cuts[place], -place), default=behind[0])


def _hidden(works: Callable[[Piece], bool], cuts: Mapping[int, int], position: int, end: int) -> int | None:
    """Run a piece that gives out what others need, larger ones where even that fails; return where it ends."""
    while not works(Piece(position, end, False)):
        if end == max(cuts):
            return None
        end = _end(cuts, position, 2 * (end - position))
    return end


def shape_tensors(graph: ModelGraph) -> dict[str, frozenset[str] | None]:
    """Return the tensors that nothing but weights and shapes decides, each with the inputs of the model that it takes.

    None means those that take the shape of another tensor.
    """
    static, shapes_of = static_tensors(graph), dict[str, frozenset[str] | None]()
    for node in graph.nodes:
        read = [name for name in node.inputs if name not in static]
        if node.op_type in _SHAPES and not node.domain and read:
            sources = frozenset(read) if read[0] in graph.inputs else shapes_of.get(read[0])
        elif read and all(name in shapes_of for name in read):
            known = [shapes_of[name] for name in read]
            sources = None if None in known else frozenset[str]().union(*filter(None, known))
        else:
            continue
        shapes_of.update(dict.fromkeys(node.outputs, sources))
    return shapes_of


class Forecast:
    """Estimate of the time to compile operators, from earlier compilations."""

    def __init__(self) -> None:
        self._known: list[tuple[int, float]] = []

    def learn(self, operators: int, seconds: float) -> None:
        """Remember how long compiling took.

        Args:
            operators: Number of operators compiled.
            seconds: Time that compiling took.
        """
        self._known.append((operators, seconds))

    def seconds(self, operators: int) -> float | None:
        """Estimate the duration, in seconds, from the last time for each operator; None if nothing is known."""
        if not self._known:
            return None
        count, seconds = min(self._known[-4:], key=lambda known: abs(known[0] - operators))
        return seconds * operators / max(1, count)

    def text(self, operators: int) -> str:
        """Return the same in words that end a sentence; empty if nothing is known or it takes less than a second."""
        expected = self.seconds(operators)
        return f", about {expected:.0f} s" if expected is not None and expected >= 1 else ""
