"""A result as a card in a notebook: it takes the notebook's own colours, loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.report import BAD, Excerpt, Facts, Histogram, Note, Problem, Result, Row, Table, cell_text, excerpt
from polycmp.report.elements import Markup, join, tag
from polycmp_report.page.drawings import histogram_svg

#: Colours that can be read on a light and on a dark ground: notebooks have either, and do not tell.
COLOURS = {
    "passed": "#1a9850",
    "failed": "#d9483b",
    "blind": "#a05fc0",
    "undecided": "#a05fc0",
    "error": "#c07d00",
    "skipped": "#8a8f98",
    "info": "#8a8f98",
}
SIGNS = {"passed": "✓", "failed": "✗", "blind": "?", "undecided": "?", "error": "!"}
#: Shapes and colours in styles of the elements themselves: a rule would hold for the whole notebook.
_BOX = (
    "border:1px solid rgba(128,128,128,.35);border-left:5px solid {};border-radius:8px;padding:12px 16px;margin:4px 0"
)
_CELL = "padding:2px 14px 2px 0;border:0;background:none;text-align:{};vertical-align:top"
_SOFT, _LINE = "opacity:.72;font-size:90%", "margin:4px 0;overflow-wrap:anywhere"
_NUMBERS = "font-family:ui-monospace,Menlo,Consolas,monospace"


def card(result: Result, row: str = "") -> str:
    """Return the card of a result, or the picture of one of its rows; empty where that has none."""
    if row:
        return next((_drawing(item) for table in result.blocks(Table) for item in table.rows if item.name == row), "")
    return tag(
        "div",
        tag(
            "div",
            tag("strong", f"{SIGNS[result.verdict]} {result.heading}", style=f"color:{COLOURS[result.verdict]}"),
            f" {result.sentence}",
            style=_LINE,
        ),
        *(_table(table) for table in result.blocks(Table) if table.judged),
        *(tag("div", f"{item.what}: {item.why}", style=_LINE) for item in result.blocks(Problem)),
        *(tag("div", line, style=_LINE) for item in _shown_facts(result) for line in item.lines),
        _notes(result),
        style=_BOX.format(COLOURS[result.verdict]),
    )


def _shown_facts(result: Result) -> Iterator[Facts]:
    return (item for item in result.blocks(Facts) if not item.background)


def _notes(result: Result) -> Markup | None:
    notes = [note for note in result.blocks(Note) if note.terminal]
    if not notes:
        return None
    items = (tag("li", f"{note.subject} {note.text}".strip()) for note in notes)
    return tag("details", tag("summary", f"Notes ({len(notes)})"), tag("ul", *items), style=_SOFT)


def _table(table: Table) -> Markup:
    columns = [column for column in table.columns if not column.wide]
    part = excerpt(table)
    head = ["", table.name_title, *(column.title for column in columns)]
    rows = [_row(item, table) for item in part.rows]
    title = tag("div", table.title, style=_SOFT)
    body = tag("table", tag("tr", *(_cell(text, tag_name="th") for text in head)), *rows, style="border:0;margin:0")
    return tag("div", title, body, _omission(part), style="overflow-x:auto;margin:8px 0")


def _omission(part: Excerpt) -> Markup | None:
    count = part.before + part.behind
    return tag("div", f"… {count} rows more", style=_SOFT) if count else None


def _row(row: Row, table: Table) -> Markup:
    values = [
        cell_text(column, value) for column, value in zip(table.columns, row.cells, strict=False) if not column.wide
    ]
    mark = tag("span", row.mark or row.state, style=f"color:{COLOURS[row.state]};font-weight:600")
    name = join(tag("span", row.name, style=_NUMBERS), tag("div", row.type, style=_SOFT) if row.type else None)
    cells = tag("tr", _cell(mark), _cell(name), *(_cell(text, "right") for text in values), style="background:none")
    if row.state not in BAD or not row.reason:
        return cells
    reason = tag("td", row.reason, colspan=len(values) + 1, style=f"{_CELL.format('left')};{_SOFT}")
    return join(cells, tag("tr", _cell(""), reason, style="background:none"))


def _cell(content: object, align: str = "left", *, tag_name: str = "td") -> Markup:
    numbers = f";{_NUMBERS}" if align == "right" else ""
    return tag(tag_name, content, style=_CELL.format(align) + numbers)


def _drawing(row: Row) -> Markup:
    if not isinstance(row.drawing, Histogram):
        return Markup("")
    svg = histogram_svg(row.drawing)
    rules = "rect{fill:#4b74c9}text{fill:currentColor;font-size:11px}line{stroke:currentColor;stroke-opacity:.5}"
    drawn = Markup(svg.replace("<title>", f"<style>{_scoped(rules)}</style><title>", 1))
    title = tag("div", f"{row.drawing.title} of {row.name} · {row.drawing.remark}", style=_SOFT)
    return tag("div", title, tag("div", drawn, class_="polycmp-drawing"), style="max-width:640px")


def _scoped(rules: str) -> str:
    """Return CSS rules that hold for drawings of this package alone."""
    return "".join(f".polycmp-drawing {rule}}}" for rule in rules.split("}") if rule)
