"""The failures of a result one by one, for reports that place them: annotations, results of a scanner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polycmp.report import BAD, Problem, Result, State, Table


@dataclass(frozen=True)
class Failure:
    """One thing that failed, or that could not be judged.

    Attributes:
        state: `failed`, `blind`, `undecided` or `error`.
        title: Name of what failed, with its backend or model; the same from run to run.
        text: Reason for the state.
        name: Name of the output, the tensor or the case; empty for a failure of the whole.
        file: The file that tells of it, such as a suite; empty for none.
        line: Line in that file, counted from 1.
        first: Whether it is the first tensor that goes wrong, which those after it follow from.
    """

    state: State
    title: str
    text: str
    name: str = ""
    file: str = ""
    line: int = 0
    first: bool = False


def failures(result: Result) -> list[Failure]:
    """Return the failures: backends, tables as a whole, and rows; else a verdict that is bad all the same."""
    listed = [*_each_failure(result)]
    if not listed and result.verdict in BAD:
        return [Failure(result.verdict, result.command, result.sentence)]
    return listed


def _each_failure(result: Result) -> Iterator[Failure]:
    for problem in result.blocks(Problem):
        where = f" in iteration {problem.iteration}" if problem.iteration is not None else ""
        yield Failure(problem.state, problem.what, f"{problem.why}{where}")
    for table in result.blocks(Table):
        if table.problem is not None:
            yield Failure(table.problem.state, table.title, table.problem.why)
        if table.judged:
            yield from _rows(table, result)


def _rows(table: Table, result: Result) -> Iterator[Failure]:
    for row in table.failures:
        yield Failure(
            state=row.state if row.state in BAD else "failed",
            title=f"{table.subject if table.about else table.title}: {row.name}",
            text=result.sentence if table.causal else row.reason,
            name=row.name,
            file=row.file,
            line=row.line,
            first=table.causal,
        )
