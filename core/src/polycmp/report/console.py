"""A result on the terminal: its blocks in their order, and one line that says it all."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.text import Text

from polycmp._commands import NextStep, Repeat
from polycmp.report.formatting import Excerpt, cell_text, excerpt
from polycmp.report.joining import merge_tables, mergeable_tables
from polycmp.report.layout import Heading, Line, print_table
from polycmp.report.result import BAD, Column, Facts, Note, Problem, Result, Row, Series, State, Table
from polycmp.report.screen import (
    STYLES,
    WHOLE,
    PlainConsole,
    Screen,
    Sentence,
    cell,
    standard_output,
    whole_line,
    words,
)
from polycmp.sentences import MARKS
from polycmp.terminal import visible

_ROW_STYLES: dict[State, str] = {
    "passed": "green",
    "failed": "red",
    "blind": "magenta",
    "undecided": "magenta",
    "error": "yellow",
    "skipped": "dim",
    "info": "",
}
#: Label of the remarks that are listed together.
LABEL = Note("").label
#: A reason up to this length says no more of a row that passed than its mark: "within tolerance".
_SHORT = 16
#: Number of kinds of names that are called where rows are left out.
_NAMED = 4
#: A longer reason of a failure is printed below its row in any case, so that it does not stretch the table.
_INLINE = 40


def print_result(result: Result, *, verbose: bool = False, quiet: bool = False, console: Screen | None = None) -> None:
    """Print a result to standard output.

    Args:
        result: The result to print.
        verbose: Show every row.
        quiet: Show one line only.
        console: Console to print to; by default standard output, as wide as the terminal or 120 columns.
    """
    out = console or standard_output()
    if quiet:
        out.print(whole_line(result.summary, STYLES[result.verdict]), soft_wrap=True)
        return
    notes = dict.fromkeys(
        _note(block) for block in result.content if isinstance(block, Note) and block.label == LABEL and block.terminal
    )
    tables = _tables(result)
    failed_first: dict[Problem, str] = {}
    for block in result.content:
        if isinstance(block, Table):
            if id(block) in tables:
                _print_table(out, *tables[id(block)], verbose=verbose)
        elif isinstance(block, Repeat):
            out.print(Sentence(f"iteration {block.iteration} ({block.inputs}): {block.failed}"))
            out.print(whole_line(f"  repeat: {block.command}"), soft_wrap=True)  # a broken command cannot be copied
        elif isinstance(block, NextStep) or (isinstance(block, Note) and block.label == LABEL):
            continue  # remarks, and what to do next, come after what was found
        elif isinstance(block, Problem):
            _print_problem(out, block, failed_first)
        elif not isinstance(block, Series):
            for line in _lines(block):
                out.print(Sentence(line))
    if notes:
        out.print(Sentence("notes:"))
    for text in notes:
        out.print(Sentence(f"- {text}"))
    for row, columns in ((row, block.columns) for block in result.blocks(Table) if block.causal for row in block.rows):
        if row.chosen:
            out.print(Sentence(_again(row, columns)))
    out.print(Sentence(result.summary, STYLES[result.verdict]))
    for step in result.blocks(NextStep):
        out.print(whole_line(f"  next: {step.command}"), soft_wrap=True)


def _tables(result: Result) -> dict[int, tuple[Table, bool]]:
    """Return the tables to print where one stands, by its identity, and whether its failures come last."""
    joined = [tables for tables in mergeable_tables(result) if len(tables) > 1]
    printed = {id(table): (table, False) for table in result.blocks(Table)}
    for tables in joined:
        for table in tables:
            del printed[id(table)]
        printed[id(tables[0])] = (merge_tables(tables, result.title), True)
    return printed


def result_text(result: Result) -> str:
    """Render the text of `print_result` with every row, without styles and line breaks within rows."""
    stream = io.StringIO()
    print_result(result, verbose=True, console=PlainConsole(WHOLE, stream))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _sentence(problem: Problem) -> str:
    where = f" (in iteration {problem.iteration})" if problem.iteration is not None else ""
    what = visible(problem.what)
    return (f"{what}: {problem.why}" if problem.why else what) + where


def _print_problem(out: Screen, problem: Problem, failed_first: dict[Problem, str]) -> None:
    """Print a failure; of one that another run had before only that.

    Args:
        out: Where to print it.
        problem: The failure.
        failed_first: The first run with each failure; this one is added.
    """
    alike = replace(problem, what="", subject="")
    first = failed_first.setdefault(alike, problem.subject) if problem.why else problem.subject
    if first != problem.subject:
        out.print(Sentence(f"{visible(problem.what)} as {visible(first)} did", _ROW_STYLES[problem.state]))
        return
    out.print(Sentence(problem.line or _sentence(problem), _ROW_STYLES[problem.state]))
    _hint(out, problem)


def _hint(out: Screen, problem: Problem) -> None:
    if problem.hint:
        out.print(Sentence(f"  next: {problem.hint}"))


def _note(note: Note) -> str:
    return visible(f"{note.subject}: {note.text}" if note.subject else note.text)


def _again(row: Row, columns: Sequence[Column]) -> str:
    """Return the row that the verdict names once more, since a long table has scrolled away."""
    figures = (
        f"{column.title.lower()} {cell_text(column, value)}"
        for column, value in zip(columns, row.cells, strict=False)
        if column.kind != "text" and value is not None
    )
    return visible(f"{row.mark or MARKS[row.state]}: {row.name}: {', '.join(figures) or row.reason}")


def _lines(block: Facts | Note) -> Iterable[str]:
    if isinstance(block, Facts):
        items = (f"  {item.name}: {item.value}" for item in block.items)
        return () if block.background else map(visible, block.lines or (block.title, *items))
    if not block.terminal:
        return ()
    text = f"{block.subject} {block.text}" if block.subject else block.text
    return (f"{block.label}: {text}" if block.label else f"  {text}",)


def _print_table(out: Screen, table: Table, failures_last: bool, *, verbose: bool) -> None:
    columns = [column for column in table.columns if not column.wide]
    order = sorted(range(len(columns)), key=lambda at: -columns[at].wanted)
    ranks = {at: rank for rank, at in enumerate(order)}
    headings = [
        *([Heading("")] if _is_marked(table) else []),
        Heading(visible(table.name_title), breaks=True),
        *([Heading(visible(table.type_title), rank=len(columns))] if table.type_title else []),
        # Of the figures the first says most; what a table shows is not all that a report holds.
        *(
            Heading(visible(item.title), item.kind != "text", ranks[at], item.kind == "text")
            for at, item in enumerate(columns)
        ),
    ]
    part = Excerpt(table.rows) if verbose else excerpt(table)
    if failures_last:  # next to the verdict: a long table scrolls away
        part = replace(part, rows=tuple(sorted(part.rows, key=lambda row: row.state in BAD)))
    print_table(out, visible(table.title), headings, _rows(table, columns, part), visible(table.reason_title))
    if table.problem is not None:
        _hint(out, table.problem)


def _rows(table: Table, columns: list[Column], part: Excerpt) -> Iterable[Line]:
    if part.before:
        yield _remark(table, columns, f"… {part.before} before")
    told = {id(row) for row in [row for row in part.rows if row.chosen][: table.told]}
    for row in part.rows:
        yield _row(row, table, columns, told=id(row) in told)
    if part.behind and table.causal:
        outside = "all" if part.failed == part.behind else f"{part.failed} of them"
        yield _remark(table, columns, f"… {part.behind} more, {outside} outside the tolerance")
    elif part.behind:
        named = ", ".join(part.folded[:_NAMED]) + (", …" if len(part.folded) > _NAMED else "")
        failed = f"{part.failed} of them failed; " if part.failed and table.judged else ""
        more, why = f"… {part.behind} more", f"{failed}-v shows all"
        if len(named) <= _INLINE:
            yield _remark(table, columns, f"{more}: {named}" if named else more, why)
        else:
            yield _remark(table, columns, more, f"{named}; {why}")
    if table.problem is not None:
        why, mark = table.problem.why, _mark(table.problem.state, "")
        yield _remark(table, columns, "" if table.reason_title else why, why, mark)


def _remark(table: Table, columns: list[Column], name: str = "", reason: str = "", mark: Text | None = None) -> Line:
    """Return a row about others that are left out, or about the table as a whole."""
    first = [mark or cell("")] if _is_marked(table) else []
    empty = [cell("")] * (len(columns) + bool(table.type_title))
    return Line([*first, cell(name), *empty], words(reason), below=not table.reason_title)


def _is_marked(table: Table) -> bool:
    """Return whether rows of a table are marked, with a verdict or otherwise."""
    return table.judged or any(row.mark for row in table.rows)


def _row(row: Row, table: Table, columns: list[Column], *, told: bool = False) -> Line:
    values = [value for column, value in zip(table.columns, row.cells, strict=False) if not column.wide]
    name = " ".join([row.name, *(f"({tag})" for tag in row.tags)])
    texts = [cell(name), *([cell(row.type)] if table.type_title else [])]
    texts += [cell(cell_text(column, value)) for column, value in zip(columns, values, strict=False)]
    texts += [cell("")] * (len(columns) - len(values))
    if _is_marked(table):
        texts.insert(0, _mark(row.state if table.judged else "info", row.mark, chosen=row.chosen))
    if not table.reason_title:
        return Line(texts, words(row.reason), below=True) if told else Line(texts)
    style = _ROW_STYLES[row.state] if not table.judged and row.state in BAD else ""
    judged = table.judged and row.state != "info"
    says_no_more = (judged and row.state == "passed" and len(row.reason) <= _SHORT) or row.reason in ("ran", "read")
    return Line(
        texts,
        words(row.reason, style),
        below=judged and row.state in BAD and len(row.reason) > _INLINE,
        optional=says_no_more,
    )


def _mark(state: State, mark: str, *, chosen: bool = False) -> Text:
    return cell(mark or MARKS[state], f"bold {_ROW_STYLES[state]}" if chosen else _ROW_STYLES[state])
