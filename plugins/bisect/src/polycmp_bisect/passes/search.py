"""The fewest optimisations of a backend that have to be left out for a model to be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from polycmp.spec import Switch
from polycmp_bisect.search import EndError, FlakyError, Judgement
from polycmp_locate.ddmin import ddmin, other_part

#: Judges the backend with a switch turned to a value; without one as it is. The number is that of the look, from 0.
Look = Callable[[Switch | None, Any, int], Judgement]


@dataclass(frozen=True)
class Guilty:
    """A setting with which a fault is gone.

    Attributes:
        switch: The switch.
        value: Value of the switch; of one that takes several, the fewest of them that are needed, as a tuple.
        judgement: The judgement with it.
        others: Other values of a switch that takes several, which help as well; which of them is wrong no run shows.
    """

    switch: Switch
    value: Any
    judgement: Judgement
    others: tuple[Any, ...] = ()


@dataclass
class PassSearch:
    """One search.

    Attributes:
        look: Judges a setting.
        takes_several: Returns whether a switch takes several values at a time.
        looks: Judged settings with their judgements, in this order.
    """

    look: Look
    takes_several: Callable[[Switch], bool]
    looks: list[tuple[Switch | None, Any, Judgement]] = field(default_factory=list)

    def find(self, switches: Iterable[tuple[Switch, Sequence[Any]]]) -> Guilty | None:
        """Return the first setting that helps, with its smallest change; None if none does, or nothing is wrong.

        A single guilty value among n is found in at most 2 log2(n) looks, beside the two at the backend as it is, the
        one with all values together, one that confirms it, and one with all others. A setting that is right only once
        is passed over.

        Args:
            switches: Each switch with the values that it can still be turned to.

        Raises:
            EndError: The backend as it is could not be judged.
            FlakyError: It is right once and wrong another time.
        """
        once, again = self._judge(None, None), self._judge(None, None, 1)
        if once.state == "skip":
            raise EndError(0, "bad", once)
        if _is_right(once) != _is_right(again):
            raise FlakyError(0, once, again)
        if _is_right(once):
            return None
        settings = (self._least(switch, tuple(values)) for switch, values in switches if values)
        return next((guilty for guilty in settings if guilty is not None), None)

    def _least(self, switch: Switch, values: tuple[Any, ...]) -> Guilty | None:
        if not self.takes_several(switch):
            known = {values[-1]: self._judge(switch, values[-1])}
            if not _is_right(known[values[-1]]):
                return None
            for value in values:
                judged = known[value] if value in known else self._judge(switch, value)
                if _is_right(judged) and self._is_right_again(switch, value):
                    return Guilty(switch, value, judged)
            return None
        right: dict[tuple[Any, ...], Judgement] = {}

        def helps(some: Sequence[Any]) -> bool:
            judged = self._judge(switch, tuple(some))
            if _is_right(judged):
                right[tuple(some)] = judged
            return tuple(some) in right

        if not helps(values):
            return None
        least = tuple(ddmin(values, helps))
        if not self._is_right_again(switch, least):
            return None
        return Guilty(switch, least, right[least], tuple(other_part(values, least, helps)))

    def _is_right_again(self, switch: Switch, value: Any) -> bool:
        """Judge a setting a second time: a builder that chooses kernels by their time may be right by chance."""
        return _is_right(self._judge(switch, value, 1))

    def _judge(self, switch: Switch | None, value: Any, look: int = 0) -> Judgement:
        judged = self.look(switch, value, look)
        self.looks.append((switch, value, judged))
        return judged


def _is_right(judged: Judgement) -> bool:
    return judged.state == "good"
