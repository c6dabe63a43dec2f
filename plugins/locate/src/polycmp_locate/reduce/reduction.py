"""Result of a reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
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

    def wrote_case(self, folder: str, *, shown: bool) -> None:
        """Record a folder with a script, and whether that showed the fault when it was run."""
        self.files.append(("repeats it", f"{folder}: sh {Path(folder, 'run.sh')}"))
        if not shown:
            self.notes.append(f"the script in {folder} was run and did not show the fault")

    def write_parts(self, path: str, passing: str, write: Callable[[ModelPart, str], str]) -> None:
        """Write the smallest part that fails, and the nearest one that passes.

        Args:
            path: File for the one that fails.
            passing: File for the one that passes; empty for none.
            write: Writes a part, and returns a remark on what was verified.
        """
        assert self.failing is not None
        self.wrote("fails", path, write(self.failing, path))
        if passing and self.passing is not None:
            self.wrote("passes", passing, write(self.passing, passing))
        elif passing:
            self.notes.append(f"no part passes, so {passing} was not written")


@contextmanager
def recording_problem(reduction: Reduction) -> Iterator[None]:
    """Record a model error as the reduction's problem, since the reduction took long and is still of use."""
    try:
        yield
    except ModelError as error:
        reduction.problem = Problem(error.what, error.why, error.hint)
