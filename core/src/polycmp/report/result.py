"""The one form in which every command hands over what it found: plain values that every report renders once.

A command makes a `Result`: verdict, one sentence, and its content as blocks in the order in which a terminal shows
them. Reports decide how that looks and nothing else; they need to know no command, and a command no report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from polycmp import _verdicts
from polycmp._commands import NextStep, Repeat
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK

State: TypeAlias = Literal["passed", "failed", "blind", "undecided", "error", "skipped", "info"]
Verdict: TypeAlias = Literal["passed", "failed", "blind", "undecided", "error"]
Kind: TypeAlias = Literal["text", "number", "duration"]

_EXIT_CODES: Mapping[str, int] = {"passed": EXIT_OK, "failed": EXIT_DIFFERENT}
#: States of a row that are worth looking at first.
BAD: frozenset[State] = frozenset({"failed", "blind", "undecided", "error"})


def verdict_of(exit_code: int) -> Verdict:
    """Return the verdict that an exit status stands for."""
    return "passed" if exit_code == EXIT_OK else "failed" if exit_code == EXIT_DIFFERENT else "error"


@dataclass(frozen=True)
class Column:
    """A column of cells.

    Attributes:
        title: Heading of the column.
        kind: `text`, `number`, or `duration` (in seconds).
        digits: Significant digits of a number.
        wide: Whether it is left out where space is short: on a terminal, in Markdown.
        wanted: Rank by which it stays on a terminal that is too narrow for all columns: the highest goes last, and of
            equal ones the first.
    """

    title: str
    kind: Kind = "text"
    digits: int = 3
    wide: bool = False
    wanted: int = 0


@dataclass(frozen=True)
class Cell:
    """A cell whose text the number alone does not give.

    Attributes:
        text: Text to show.
        value: Value to sort by; by default the text.
        remark: Remark that a page shows on demand.
    """

    text: str
    value: float | None = None
    remark: str = ""


CellValue: TypeAlias = Cell | str | float | None
"""A number is shown as the column says; None is a dash."""


@dataclass(frozen=True)
class Histogram(_verdicts.Histogram):
    """A histogram as reports draw it: counts with what they are of, and a value to mark among them.

    Attributes:
        title: Heading: the quantity that is counted.
        remark: Explanation of how to read it.
        limit: A value to mark on the axis; None for none.
        limit_name: Name of that value.
    """

    title: str = ""
    remark: str = ""
    limit: float | None = None
    limit_name: str = "limit"


@dataclass(frozen=True)
class Bar:
    """Bars over each other.

    Attributes:
        shares: Their lengths as shares of the available width, between 0 and 1, the longest first.
    """

    shares: tuple[float, ...]


@dataclass(frozen=True)
class Thumbnail:
    """A small picture of what a row is about.

    Attributes:
        png: Content of a PNG file.
        text: What is on it, for those who cannot see it.
    """

    png: bytes
    text: str = ""


@dataclass(frozen=True)
class Point:
    """A point of a series.

    Attributes:
        name: The name of the row that it belongs to.
        value: Height; infinite and NaN are drawn at the top.
        state: State, shown as its colour.
        text: Text shown when the point is hovered over.
        ring: A second value at the same place, drawn as a ring; None for none.
        mark: A text for the point that the eye should find; empty for all others.
    """

    name: str
    value: float
    state: State = "info"
    text: str = ""
    ring: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class Series:
    """Points in an order that tells something, on a logarithmic axis.

    Attributes:
        title: The heading.
        points: The points.
        remark: Explanation of how to read it.
        summary: The drawing in one sentence, for those who cannot see it.
        ends: Names of the first and the last point.
        legend: What a state of a point means, and a `ring`, in words.
    """

    title: str
    points: tuple[Point, ...]
    remark: str = ""
    summary: str = ""
    ends: tuple[str, str] = ("", "")
    legend: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """A name and its value.

    Attributes:
        name: The name.
        value: The value.
        state: Verdict on the fact, where it has one.
        remarks: Further lines on it.
    """

    name: str
    value: str
    state: State | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """A list of names and values.

    Attributes:
        title: The heading.
        items: The list.
        lines: Lines that a terminal prints; by default one per item.
        background: Whether it is background to what was found: pages have it at the end, terminals not at all.
    """

    title: str
    items: tuple[Fact, ...]
    lines: tuple[str, ...] = ()
    background: bool = False


@dataclass(frozen=True)
class Problem:
    """Something that failed as a whole.

    Attributes:
        what: Short name of the failure.
        why: Cause of the failure; empty if it is not known.
        hint: The command to type next.
        state: `error`, or `failed` for something that is judged.
        subject: Label of the backend that failed; empty for none.
        case: Name among the subject's test cases.
        iteration: The iteration in which it was seen, counted from 0.
        line: The whole as one line for a terminal; by default `what` and `why`.
    """

    what: str
    why: str = ""
    hint: str = ""
    state: State = "error"
    subject: str = ""
    case: str = "run"
    iteration: int | None = None
    line: str = ""


@dataclass(frozen=True)
class Note:
    """A remark.

    Attributes:
        text: The remark.
        subject: Label of the backend that the note is about; empty for the whole.
        label: Label that a terminal prints before it; an empty label means that it is a detail, and indented.
        terminal: Whether a terminal shows it; pages always do.
    """

    text: str
    subject: str = ""
    label: str = "note"
    terminal: bool = True


@dataclass(frozen=True)
class Row:
    """One item of a table: judged, or described.

    Attributes:
        name: Name of the row: an output, a tensor, a case.
        state: Verdict or state.
        cells: One for each column of the table.
        reason: Reason for the state, in words.
        mark: Word or sign that a terminal prints for the state; by default a word of the report's own.
        type: A second line under the name: element type and shape.
        tags: Further properties: `reference`.
        chosen: Whether it is the one that the verdict names.
        remarks: Further sentences on it.
        details: More on it, for a page.
        drawing: A small drawing beside it.
        looks: Data that reports recorded while it was compared, by the report's name.
        edge: Label of its edge in a drawing of the graph: its range, its error.
        lines: Figures as lines of text, for readers of this row alone; by default those of the columns.
        file: The file that tells of the row, such as a suite; empty for none.
        line: Line in that file, counted from 1.
        severity: Rank among the rows of the table that failed; short forms show the worst first.
    """

    name: str
    state: State
    cells: tuple[CellValue, ...] = ()
    reason: str = ""
    mark: str = ""
    type: str = ""
    tags: tuple[str, ...] = ()
    chosen: bool = False
    remarks: tuple[str, ...] = ()
    details: tuple[Facts, ...] = ()
    drawing: Histogram | Bar | Thumbnail | None = None
    looks: Mapping[str, Any] = field(default_factory=dict)
    edge: str = ""
    lines: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    severity: float = 0.0


@dataclass(frozen=True)
class Table:
    """Rows of one kind.

    Attributes:
        title: The heading; a terminal shows none where it is empty.
        rows: The rows.
        columns: The columns between name and reason.
        name_title: Heading over the rows' names.
        type_title: The heading over the rows' types where those have a column of their own.
        reason_title: The heading over the reasons where those have a column; else pages show them with the details.
        drawing_title: The heading over the drawings.
        heading: The heading on a page, where that is another one than the title.
        subject: Label of the backend that the rows belong to. Each row is a test case of it.
        subject_title: Heading over subjects where a short form shows tables of one kind as one; empty for a table that
            stays alone.
        against: Label of the run that the subject is compared with.
        suite: The table's name among suites of tests; by default the title.
        about: Facts that identify the subject beside its name: the digest and the size of a model.
        summary: Summary of the rows in a few words.
        problem: Failure of the table as a whole.
        judged: Whether the rows are verdicts, and so test cases. Else they only inform.
        failures_first: Whether failures come first, and a short form leaves out what passed.
        causal: Whether each row follows from those before it: failures after the chosen row are no failures of their
            own, and a short form shows the rows around that one.
        told: Number of the chosen rows below which a terminal prints their reasons, in a table without verdicts.
    """

    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...] = ()
    name_title: str = "Name"
    type_title: str = ""
    reason_title: str = ""
    drawing_title: str = ""
    heading: str = ""
    subject: str = ""
    against: str = ""
    suite: str = ""
    about: str = ""
    summary: str = ""
    problem: Problem | None = None
    judged: bool = True
    failures_first: bool = False
    causal: bool = False
    subject_title: str = ""
    told: int = 0

    @property
    def failures(self) -> tuple[Row, ...]:
        """The rows that count as failures; in a causal table the chosen one alone."""
        if self.causal:
            return tuple(row for row in self.rows if row.chosen)
        return tuple(row for row in self.rows if row.state in BAD)


Block: TypeAlias = Table | Facts | Series | Problem | Note | Repeat | NextStep
_B = TypeVar("_B", Table, Facts, Series, Problem, Note, Repeat, NextStep)


@dataclass(frozen=True)
class Result:
    """Result of a command.

    Attributes:
        command: The command: `run`, `locate`.
        verdict: `passed`, `failed` (something differs), `blind` (nothing could have differed), `undecided` (rounding
            may explain anything), or `error` (that could not be found out).
        heading: The verdict in capital letters, as the command puts it.
        sentence: Summary in one sentence.
        title: Heading: the models or backends.
        models: The models' paths, and for each in a few words what identifies it; known to reports of files only.
        content: Everything found, in the order in which a terminal shows it.
        facts: The few figures that matter most.
        environment: Versions and machine.
        command_line: The command line as typed.
        seconds: Wall-clock duration.
        timed: Whether the summary tells the duration.
        document: The JSON document, of plain values.
    """

    command: str
    verdict: Verdict
    heading: str
    sentence: str
    title: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    content: tuple[Block, ...] = ()
    facts: tuple[Fact, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    command_line: str = ""
    seconds: float = 0.0
    timed: bool = False
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit status: 0 passed, 1 failed, 3 could not be found out."""
        return _EXIT_CODES.get(self.verdict, EXIT_FAILED)

    @property
    def summary(self) -> str:
        """The verdict and its sentence, in one line."""
        seconds = f"{self.seconds:.2g}" if self.seconds < 10 else f"{self.seconds:.0f}"
        return f"{self.heading}: {self.sentence}" + (f" ({seconds} s)" if self.timed else "")

    def blocks(self, kind: type[_B]) -> tuple[_B, ...]:
        """Return the blocks of one kind, in their order."""
        return tuple(item for item in self.content if isinstance(item, kind))
