"""Result of a reduction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polycmp.errors import ModelError
from polycmp.report import Problem
from polycmp_locate.reduce.parts import ModelPart

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph


@dataclass
class Reduction:
    """Result of a reduction.

    Attributes:
        graph: The model.
        failing: The smallest part that fails; None if the whole model does not.
        passing: The passing part nearest to it.
        sentence: Description of the whole model's failure; empty if there is none.
        steps: Number of parts that were judged.
        replayed: Number of verdicts taken from an earlier search.
        stopped: Whether the user stopped the search.
        problem: Problem that kept the search from starting, or its result from being written.
        files: Descriptions and paths of the files that were written.
        notes: Remarks.
        command: The command line as typed.
        seconds: Duration in seconds.
    """

    graph: ModelGraph
    failing: ModelPart | None = None
    passing: ModelPart | None = None
    sentence: str = ""
    steps: int = 0
    replayed: int = 0
    stopped: bool = False
    problem: Problem | None = None
    files: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    command: str = ""
    seconds: float = 0.0

    def wrote(self, what: str, path: str, remark: str) -> None:
        """Record a written file.

        Args:
            what: Description of the file.
            path: Path of the file.
            remark: Checks of the file that passed.
        """
        self.files.append((what, path))
        self.notes += [remark] if remark else []


@contextmanager
def recording_problem(reduction: Reduction) -> Iterator[None]:
    """Record a model error as the reduction's problem, since the reduction took long and is still of use."""
    try:
        yield
    except ModelError as error:
        reduction.problem = Problem(error.what, error.why, error.hint)
