"""A result on the terminal: its blocks in their order, and one line that says it all."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from polycmp.report.face import BAD, Column, Facts, Note, Problem, Repeat, Result, Row, Series, State, Table
from polycmp.report.formatting import Excerpt, cell_text, excerpt

STYLES = {"passed": "bold green", "failed": "bold red", "error": "bold yellow"}
_ROW_STYLES: dict[State, str] = {"passed": "green", "failed": "red", "error": "yellow", "skipped": "dim", "info": ""}
_MARKS: dict[State, str] = {"passed": "ok", "failed": "FAIL", "error": "error", "skipped": "-", "info": ""}


def print_result(result: Result, *, verbose: bool = False, console: Console | None = None) -> None:
    """Print a result to standard output.

    Args:
        result: What to print.
        verbose: Show every row.
        console: Where to print; by default standard output, as wide as the terminal or 120 columns.
    """
    out = console or make_console()
    for block in result.content:
        if isinstance(block, Table):
            out.print(_table(block, verbose))
            if block.problem is not None:
                _hint(out, block.problem)
        elif isinstance(block, Repeat):
            out.print(_text(f"iteration {block.iteration} ({block.inputs}): {block.failed}"))
            out.print(_text(f"  repeat: {block.command}"), soft_wrap=True)  # a broken command cannot be copied
        elif isinstance(block, Problem):
            out.print(_text(block.line or _sentence(block), _ROW_STYLES[block.state]))
            _hint(out, block)
        elif not isinstance(block, Series):
            for line in _lines(block):
                out.print(_text(line))
    out.print(_text(result.summary, STYLES[result.verdict]))


def make_console() -> Console:
    """Return a console on standard output, as wide as the terminal or 120 columns."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, soft_wrap=False)


def _text(text: str, style: str = "") -> Text:
    """Return a text as the terminal may have it; everything that is printed here goes through this."""
    return Text(text, style=style)


def _sentence(problem: Problem) -> str:
    where = f" (in iteration {problem.iteration})" if problem.iteration is not None else ""
    return (f"{problem.what}: {problem.why}" if problem.why else problem.what) + where


def _hint(out: Console, problem: Problem) -> None:
    if problem.hint:
        out.print(_text(f"  next: {problem.hint}"))


def _lines(block: Facts | Note) -> Iterable[str]:
    if isinstance(block, Facts):
        items = (f"  {item.name}: {item.value}" for item in block.items)
        return () if block.background else block.lines or (block.title, *items)
    if not block.terminal:
        return ()
    text = f"{block.subject} {block.text}" if block.subject else block.text
    return (f"{block.label}: {text}" if block.label else f"  {text}",)


def _table(table: Table, verbose: bool) -> RichTable:
    columns = [column for column in table.columns if not column.wide]
    made = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    if table.title:
        made.title, made.title_justify = _text(table.title), "left"
    for heading in [*([""] if table.judged else []), table.name_title, *filter(None, [table.type_title])]:
        made.add_column(_text(heading), overflow="fold")
    for column in columns:
        number = column.kind != "text"
        made.add_column(_text(column.title), justify="right" if number else "left", no_wrap=number, overflow="fold")
    if table.reason_title:
        made.add_column(_text(table.reason_title), overflow="fold")
    for cells in _rows(table, columns, verbose):
        made.add_row(*cells)
    return made


def _rows(table: Table, columns: list[Column], verbose: bool) -> Iterable[list[Text]]:
    part = Excerpt(table.rows) if verbose else excerpt(table)
    if part.before:
        yield _remark(table, columns, f"… {part.before} before")
    for row in part.rows:
        yield _row(row, table, columns)
    if part.behind and table.causal:
        yield _remark(table, columns, f"… {part.behind} behind, {part.failed} outside the tolerance")
    elif part.behind:
        yield _remark(table, columns, f"… {part.behind} more", f"{part.failed} of them failed; -v shows all")
    if table.problem is not None:
        yield _remark(table, columns, reason=table.problem.why, mark=_mark(table.problem.state, ""))


def _remark(
    table: Table, columns: list[Column], name: str = "", reason: str = "", mark: Text | None = None
) -> list[Text]:
    """Return a row that stands for others, or for the table as a whole."""
    first = [mark or _text("")] if table.judged else []
    empty = [_text("")] * (len(columns) + bool(table.type_title))
    return [*first, _text(name), *empty, *([_text(reason)] if table.reason_title else [])]


def _row(row: Row, table: Table, columns: list[Column]) -> list[Text]:
    cells = [cell for column, cell in zip(table.columns, row.cells, strict=False) if not column.wide]
    name = " ".join([row.name, *(f"({tag})" for tag in row.tags)])
    texts = [_text(name), *([_text(row.type)] if table.type_title else [])]
    texts += [_text(cell_text(column, cell)) for column, cell in zip(columns, cells, strict=False)]
    if table.judged:
        texts.insert(0, _mark(row.state, row.mark, chosen=row.chosen))
    if table.reason_title:
        style = _ROW_STYLES[row.state] if not table.judged and row.state in BAD else ""
        texts.append(_text(row.reason, style))
    return texts


def _mark(state: State, mark: str, *, chosen: bool = False) -> Text:
    return _text(mark or _MARKS[state], f"bold {_ROW_STYLES[state]}" if chosen else _ROW_STYLES[state])
