"""Search for the first bad candidate of an ordered line: strides back to a good one, then halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

State = Literal["good", "bad", "skip"]
#: How far the first look back from the bad end is; each further one goes four times as far.
_STRIDE = 4
#: How many neighbours in a row have to be impossible to judge for all that are older to be taken for the same: each
#: costs an installation, and what needs a newer operator set runs on no old release.
_IN_A_ROW = 2


@dataclass(frozen=True)
class Judgement:
    """Judgement of one candidate.

    Attributes:
        state: `good`, `bad`, or `skip`: it could not be judged.
        reason: Why, in words.
        error: The figure that was judged by, larger for worse; None if there is none.
        seconds: Median time of one inference; None if nothing ran.
        detail: The output or measure that the figure belongs to.
    """

    state: State
    reason: str = ""
    error: float | None = None
    seconds: float | None = None
    detail: str = ""


class FlakyError(Exception):
    """A candidate that was judged twice, with different verdicts.

    Attributes:
        index: Position in the line.
        once: The first judgement.
        again: The second.
    """

    def __init__(self, index: int, once: Judgement, again: Judgement) -> None:
        super().__init__(index)
        self.index, self.once, self.again = index, once, again


class EndError(Exception):
    """A named end whose judgement is not the expected one.

    Attributes:
        index: Position in the line.
        expected: The state that the user named.
        judgement: The actual judgement.
        tried: Number of candidates that were looked at in its place, itself included.
    """

    def __init__(self, index: int, expected: State, judgement: Judgement, tried: int = 1) -> None:
        super().__init__(index)
        self.index, self.expected, self.judgement, self.tried = index, expected, judgement, tried


@dataclass
class TurningPoint:
    """Place where the line turns.

    Attributes:
        first_bad: The first bad one; None if none is bad.
        last_good: The last good one before it; None if none is good.
        judged: All judgements by place, in the order in which they were made.
        between: Places between the last good and the first bad one that could not be judged.
    """

    first_bad: int | None = None
    last_good: int | None = None
    judged: dict[int, Judgement] = field(default_factory=dict)
    between: tuple[int, ...] = ()


def remaining_looks(good: int, bad: int) -> int:
    """Return the largest number of candidates that halving still has to look at."""
    return max(bad - good - 1, 0).bit_length()


class Search:
    """One search.

    Args:
        judge: Judges a candidate by its place; called with the place and with which look at it this is, from 0.
        tell: Told the range in which the turn has to be after each look: the good place, -1 if none is known, and the
            bad one.
    """

    def __init__(
        self, judge: Callable[[int, int], Judgement], tell: Callable[[int, int], None] = lambda good, bad: None
    ) -> None:
        self._judge = judge
        self._tell = tell
        self._judged: dict[int, Judgement] = {}

    def find(self, bad: int, good: int | None, *, is_bad_named: bool = True) -> TurningPoint:
        """Find the first bad candidate.

        Args:
            bad: The place of the one that is bad, or to begin with.
            good: The place of one that is good; None to look for it among those before.
            is_bad_named: Whether it was said that `bad` is bad; else an earlier one takes its place if it cannot be
                judged.

        Raises:
            FlakyError: A candidate is good once and bad another time.
            EndError: An end is not what it was said to be, or could not be judged.
        """
        end = self._bad_end(bad, is_bad_named)
        if end is None:
            return TurningPoint(judged=self._judged)
        start = self._good_end(end, good)
        lowest, highest = start
        if lowest is None:
            return TurningPoint(highest, None, self._judged)
        return self._halve(lowest, highest)

    def _look(self, place: int, *, twice: bool = False) -> Judgement:
        judgement = self._judged.get(place)
        if judgement is None:
            judgement = self._judged[place] = self._judge(place, 0)
        if twice and judgement.state != "skip":
            again = self._judge(place, 1)
            if again.state != judgement.state:
                raise FlakyError(place, judgement, again)
        return judgement

    def _bad_end(self, bad: int, is_named: bool) -> int | None:
        for place in range(bad, max(bad - _IN_A_ROW, -1), -1):
            judgement = self._look(place, twice=True)
            if judgement.state == "bad":
                return place
            if is_named:
                raise EndError(place, "bad", judgement)
            if judgement.state == "good":
                return None
        raise EndError(bad, "bad", self._judged[bad], len(self._judged))

    def _good_end(self, bad: int, good: int | None) -> tuple[int | None, int]:
        """Return the places of a good one, None if there is none, and of the earliest that is known to be bad."""
        if good is not None:
            judgement = self._look(good, twice=True)
            if judgement.state != "good":
                raise EndError(good, "good", judgement)
            return good, bad
        stride, floor = _STRIDE, -1  # what is at the floor or older cannot be judged
        while bad - floor > 1:
            self._tell(-1, bad)
            target = max(bad - stride, 0) if floor < 0 else (floor + bad) // 2
            stride *= _STRIDE
            place = self._judged_near(target, floor)
            if place is None:
                floor = target
            elif self._judged[place].state == "good":
                self._look(place, twice=True)
                return place, bad
            else:
                bad = place
        return None, bad

    def _judged_near(self, place: int, floor: int) -> int | None:
        """Return the first of a few candidates, from one backwards, that can be judged; None if none of them can."""
        for near in range(place, max(place - _IN_A_ROW, floor), -1):
            if self._look(near).state != "skip":
                return near
        return None

    def _halve(self, good: int, bad: int) -> TurningPoint:
        while True:
            self._tell(good, bad)
            open_places = [place for place in range(good + 1, bad) if place not in self._judged]
            if not open_places:
                break
            middle = (good + bad) / 2
            place = min(open_places, key=lambda item: abs(item - middle))
            judgement = self._look(place)
            if judgement.state == "good":
                good = place
            elif judgement.state == "bad":
                bad = place
        self._look(good, twice=True)
        self._look(bad, twice=True)
        return TurningPoint(bad, good, self._judged, tuple(range(good + 1, bad)))
