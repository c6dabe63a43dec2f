"""Base of all lines of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from polycmp.plan import Plan


class Candidates(Protocol):
    """A line of candidates from old to new, of which those behind some place are bad.

    Attributes:
        what: Noun for one of them: `release of onnxruntime`, `file`.
        names: Their names in order.
        varied: The label of the backend whose runs are judged; empty for all.
        runtime: The package of the runtime that they are releases of; empty where they are something else.
        first: The place to begin at where nobody named a bad one.
    """

    @property
    def what(self) -> str: ...  # noqa: D102

    @property
    def names(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def varied(self) -> str: ...  # noqa: D102

    @property
    def runtime(self) -> str: ...  # noqa: D102

    @property
    def first(self) -> int: ...  # noqa: D102

    def prepare(self, place: int) -> None:
        """Prepare a candidate: install it, write its file.

        Raises:
            NotInstallableError: It cannot be had, so it is skipped.
            PolycmpError: Nothing can be had; the search ends.
        """

    def plan(self, place: int) -> Plan:
        """Return the run that judges a candidate."""

    def as_typed(self, place: int) -> Plan:
        """Return the run of a candidate with files that are there when the search is over."""

    def steps(self, place: int) -> Sequence[str]:
        """Return the commands that write these files in the candidate's environment; none if they are there."""

    def is_ready(self, place: int) -> bool:
        """Return whether `prepare` would have nothing to do."""

    def interpreter(self, place: int) -> str:
        """Return the interpreter of a candidate's environment; empty if it has none of its own."""

    def find(self, name: str) -> int:
        """Return the place of a candidate by its name.

        Raises:
            UsageError: There is none.
        """
