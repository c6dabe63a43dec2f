"""A result as Markdown: short enough for a comment on a pull request, or whole for the summary of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polycmp.files import atomic_write, to_bytes
from polycmp.report import (
    BAD,
    Column,
    NextStep,
    Problem,
    Repeat,
    Result,
    Row,
    Table,
    cell_text,
    excerpt,
    merge_tables,
    mergeable_tables,
)
from polycmp.terminal import shorten, visible
from polycmp_report.models import file_names, named

#: Characters of a whole comment; GitHub takes 65536.
LENGTH = 60_000
#: Characters of one text.
TEXT = 400
#: Characters of a cell; a reader opens the rest.
CELL = 120
_MARKS = {
    "passed": "✅",
    "failed": "❌",
    "blind": "🟣 blind",
    "undecided": "🟣 undecided",
    "error": "⚠️",
    "skipped": "➖",
    "info": "",
}


def write(result: Result, path: str) -> None:
    """Write the report, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_bytes(to_markdown(result)))


def to_markdown(result: Result, failed: int = 20, passed: int = 8, length: int = LENGTH) -> str:
    """Return the result as Markdown.

    Args:
        result: The result to render.
        failed: Failures shown of each table that has those first.
        passed: Other rows shown of it.
        length: Characters after which blocks are left out.
    """
    models = file_names(result)
    text = f"### polycmp: {f'{escape(models)}: ' if models else ''}{escape(result.summary)}\n"
    text += f"\n{escape(named(result))}\n" if any(result.models.values()) else ""
    blocks = [block for block in _blocks(result, failed, passed) if block]
    for index, block in enumerate(blocks):
        if len(text) + len(block) > length:
            return text + f"\n… and {len(blocks) - index} more parts; a .json or .html report has all\n\n"
        text += f"\n{block}\n"
    return text + "\n"


def _blocks(result: Result, failed: int, passed: int) -> Iterator[str]:
    yield "\n".join(map(_problem, result.blocks(Problem)))
    joined = mergeable_tables(result)
    together = [table for tables in joined for table in tables]
    alone = [table for table in result.blocks(Table) if table.judged and not any(table is item for item in together)]
    yield from (_table(table, failed, passed) for table in alone)
    for tables in joined:
        yield _table(merge_tables(tables, result.title), failed, passed, failures_last=True)
        about = [f"- {escape(table.subject)}: {escape(table.about)}" for table in tables if table.about]
        yield "\n".join(["<details><summary>Models</summary>", "", *about, "", "</details>"]) if about else ""
    yield "\n".join(f"- to repeat {escape(item.inputs)}: {_code(item.command)}" for item in result.blocks(Repeat))
    yield "\n".join(f"- next: {_code(item.command)}" for item in result.blocks(NextStep))


def _problem(problem: Problem) -> str:
    where = f", in iteration {problem.iteration}" if problem.iteration is not None else ""
    next_step = f"; next: {_code(problem.hint)}" if problem.hint else ""
    return f"- **{escape(problem.what)}**: {escape(problem.why)}{where}{next_step}"


def _table(table: Table, failed: int, passed: int, *, failures_last: bool = False) -> str:
    columns = [column for column in table.columns if not column.wide]
    lines = [f"**{escape(table.title)}**", ""]
    if table.problem is not None:
        lines += [escape(table.problem.why), ""]
    if not table.rows:
        return "\n".join(lines)
    headings = ["", table.name_title, *filter(None, [table.type_title]), *(column.title for column in columns)]
    rules = ["---"] * (2 + bool(table.type_title))
    rules += ["---" if column.kind == "text" else "---:" for column in columns]
    if table.reason_title:
        headings, rules = [*headings, "Reason"], [*rules, "---"]
    part = excerpt(table, failed, passed)
    lines += [_line(map(escape, headings)), f"|{'|'.join(rules)}|"]
    # The end of a log and of a summary is what people see first.
    rows = sorted(part.rows, key=lambda row: row.state in BAD) if failures_last else part.rows
    lines += [_row(row, table, columns) for row in rows]
    if part.before or part.behind:
        lines += ["", f"… and {part.before + part.behind} more, {part.failed} of them failed"]
    return "\n".join(lines)


def _row(row: Row, table: Table, columns: list[Column]) -> str:
    shown = [cell for column, cell in zip(table.columns, row.cells, strict=False) if not column.wide]
    cells = [row.name, *([row.type] if table.type_title else [])]
    cells += [cell_text(column, cell) for column, cell in zip(columns, shown, strict=False)]
    cells += [row.reason] if table.reason_title else []
    mark = f"{_MARKS[row.state]} **{escape(row.mark)}**" if row.chosen else _MARKS[row.state]
    return _line([mark, *map(_cell, cells)])


def _cell(text: str) -> str:
    """Return the text of a cell: its beginning, and the rest on demand where it is long."""
    flat = " ".join(text.split())
    if len(flat) <= CELL:
        return escape(flat)
    cut = max(flat.rfind(" ", 0, CELL), CELL // 2)
    return f"<details><summary>{escape(flat[:cut])} …</summary>{escape(flat[cut:])}</details>"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    """Escape a text for a line of Markdown or a cell of a table, where HTML and mentions count, too."""
    text = visible(shorten(" ".join(text.split()), TEXT))
    for character, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;")):
        text = text.replace(character, written)
    for character in "\\`*_[]|#~":
        text = text.replace(character, "\\" + character)
    return text


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
