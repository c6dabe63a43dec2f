"""What reducing ended with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polycmp.errors import ModelError
from polycmp.report import Problem
from polycmp_locate.reduce.parts import Part

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph


@dataclass
class Reduction:
    """What reducing ended with.

    Attributes:
        graph: The model.
        failing: The smallest part that fails; None if the whole model does not.
        passing: The passing part nearest to it.
        sentence: What the whole model does wrong; empty if nothing.
        steps: How many parts were judged.
        taken: How many verdicts came from an earlier search.
        stopped: Whether the user stopped the search.
        problem: What kept the search from starting, or what it found from being written.
        files: What was written: what it is, and where.
        notes: Remarks.
        command: What was typed.
        seconds: How long it took.
    """

    graph: ModelGraph
    failing: Part | None = None
    passing: Part | None = None
    sentence: str = ""
    steps: int = 0
    taken: int = 0
    stopped: bool = False
    problem: Problem | None = None
    files: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    command: str = ""
    seconds: float = 0.0

    def wrote(self, what: str, path: str, remark: str) -> None:
        """Note a file.

        Args:
            what: What it is.
            path: Where it lies.
            remark: What was made sure of.
        """
        self.files.append((what, path))
        self.notes += [remark] if remark else []


@contextmanager
def told_in(found: Reduction) -> Iterator[None]:
    """Tell of a file that is not as good as the model together with what was found, which took long to find."""
    try:
        yield
    except ModelError as error:
        found.problem = Problem(error.what, error.why, error.hint)
