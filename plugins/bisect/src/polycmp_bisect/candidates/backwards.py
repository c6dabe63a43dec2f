"""The same candidates from new to old: for a fault that a later one mended, where the bad one is the older one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp_bisect.candidates.base import Candidates

if TYPE_CHECKING:
    from polycmp.plan import Plan


@dataclass
class Backwards:
    """Candidates in the opposite order.

    Attributes:
        line: The candidates in their own order.
    """

    line: Candidates

    @property
    def what(self) -> str:
        """Noun for one of them."""
        return self.line.what

    @property
    def names(self) -> Sequence[str]:
        """Their names, from new to old."""
        return [*reversed(self.line.names)]

    @property
    def varied(self) -> str:
        """The label of the backend whose runs are judged."""
        return self.line.varied

    @property
    def runtime(self) -> str:
        """The package of the runtime that they are releases of."""
        return self.line.runtime

    @property
    def first(self) -> int:
        """The place to begin at."""
        return self._other(self.line.first)

    def prepare(self, place: int) -> None:
        """Prepare a candidate."""
        self.line.prepare(self._other(place))

    def plan(self, place: int) -> Plan:
        """Return the run that judges a candidate."""
        return self.line.plan(self._other(place))

    def as_typed(self, place: int) -> Plan:
        """Return the run of a candidate as typed."""
        return self.line.as_typed(self._other(place))

    def steps(self, place: int) -> Sequence[str]:
        """Return the commands that come before that run."""
        return self.line.steps(self._other(place))

    def is_ready(self, place: int) -> bool:
        """Return whether there is nothing to prepare."""
        return self.line.is_ready(self._other(place))

    def interpreter(self, place: int) -> str:
        """Return the interpreter of a candidate's environment."""
        return self.line.interpreter(self._other(place))

    def find(self, name: str) -> int:
        """Return the place of a candidate by its name."""
        return self._other(self.line.find(name))

    def _other(self, place: int) -> int:
        return len(self.line.names) - 1 - place
