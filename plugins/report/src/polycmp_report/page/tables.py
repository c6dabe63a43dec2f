"""The tables of the page: rows with the evidence for each verdict, failures first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polycmp.report import (
    BAD,
    Bar,
    Cell,
    CellValue,
    Column,
    Facts,
    Histogram,
    Problem,
    Row,
    Table,
    Thumbnail,
    cell_text,
    figure,
)
from polycmp.report.elements import Markup, escape, join, tag
from polycmp_report.page.drawings import bars, histogram_svg, spark_svg, thumbnail
from polycmp_report.page.pictures import pictures
from polycmp_report.page.sections import breakable, card, facts_list, hint, scrolling

#: Rows that fail, and rows that pass, which get their details; the one that the verdict names always does.
DETAILED = {True: 100, False: 30}
#: The same of a causal table, whose details are short, and where the points of a drawing lead to.
CAUSAL = 200
#: Details that have a large histogram; after them the small one beside the row has to do, or pages become too large.
HISTOGRAMS = 20
#: Details of a table with pictures of both sides; failures come first.
LOOKS = 10
#: Failures whose details are printed; of a causal table that is the chosen row.
PRINTED = 5


def judged_tables(tables: Iterable[Table]) -> tuple[list[Markup], Mapping[str, str]]:
    """Return the tables of verdicts, those with failures first; and the place of each row's details by its name."""
    sections: list[Markup] = []
    places: dict[str, str] = {}
    ordered = sorted(tables, key=lambda table: not (table.failures or table.problem))
    for number, table in enumerate(ordered):
        rows = sorted(table.rows, key=_order) if table.failures_first else list(table.rows)
        keys = {index: f"detail-{number}-{index}" for index, row in _detailed(rows, table)}
        for index, key in keys.items():
            places.setdefault(rows[index].name, key)
        sections.append(_section(table, rows, keys, number))
    return sections, places


def _order(row: Row) -> tuple[bool, bool]:
    """Return the sort key of a row: failures first, among them those without figures; else the model's order.

    In that order the first failure is often the cause of the others.
    """
    return row.state not in BAD, any(cell is not None for cell in row.cells)


def _detailed(rows: list[Row], table: Table) -> Iterator[tuple[int, Row]]:
    """Yield the rows that get details, with their places."""
    counts = {True: 0, False: 0}
    for index, row in enumerate(rows):
        has = (
            row.details or row.remarks or isinstance(row.drawing, Histogram) or (row.reason and not table.reason_title)
        )
        if has and (row.chosen or counts[row.state in BAD] < (CAUSAL if table.causal else DETAILED[row.state in BAD])):
            counts[row.state in BAD] += 1
            yield index, row


def _section(table: Table, rows: list[Row], keys: Mapping[int, str], number: int) -> Markup:
    bad = [row.state for row in table.failures]
    weightiest = next((state for state in ("failed", "error", "undecided", "blind") if state in bad), "passed")
    state = "failed" if table.problem else weightiest
    count = tag("p", table.summary, class_=f"count {state}") if table.summary else None
    width = len(_headings(table))
    large = set(list(keys)[:HISTOGRAMS])
    seen = [index for index in keys if rows[index].looks.get("html") is not None]
    looks = {index: rows[index].looks["html"] for index in seen[:LOOKS]}
    failures = {id(row) for row in table.failures}
    printed = set([index for index in keys if id(rows[index]) in failures][:PRINTED])
    body = [
        part
        for index, row in enumerate(rows)
        for part in _rows(
            row, table, keys.get(index, ""), width,
            large=index in large, printed=index in printed, look=looks.get(index),
        )
    ]  # fmt: skip
    section = tag(
        "table",
        tag("thead", tag("tr", *(_heading(text, kind) for text, kind in _headings(table)))),
        tag("tbody", *body),
        class_="outputs",
        aria_labelledby=f"table-{number}",
    )
    scroll = scrolling(section, "scroll", aria_labelledby=f"table-{number}")
    return card(_title(table), count, _problem(table.problem), scroll if rows else None, key=f"table-{number}")


def _title(table: Table) -> Markup:
    if table.heading or not table.against:
        return escape(table.heading or table.title)
    return join(
        tag("span", breakable(table.subject), class_="name"),
        tag("span", " against ", class_="soft"),
        tag("span", breakable(table.against), class_="name"),
    )


def _problem(problem: Problem | None) -> Markup | None:
    return tag("p", problem.why, hint(problem), class_=f"callout {problem.state}") if problem is not None else None


def _headings(table: Table) -> list[tuple[str, str]]:
    columns = [(column.title, "" if column.kind == "text" else "number") for column in table.columns]
    drawings = [(table.drawing_title, "picture")] if table.drawing_title else []
    reasons = [("Reason", "")] if table.reason_title else []
    return [("Verdict", ""), (table.name_title, ""), *columns, *drawings, *reasons]


def _heading(text: str, kind: str) -> Markup:
    sortable = kind != "picture"
    return tag("th", tag("button", text, type="button") if sortable else text, scope="col", class_=kind or None)


def _rows(row: Row, table: Table, key: str, width: int, *, large: bool, printed: bool, look: Any) -> Iterator[Markup]:
    name = tag("span", breakable(row.name), class_="name")
    label = (
        tag("button", name, type="button", class_="toggle", aria_expanded="false", aria_controls=key) if key else name
    )
    spark = spark_svg(row.drawing) if isinstance(row.drawing, Histogram) else ""
    yield tag(
        "tr",
        tag("td", tag("span", row.mark.capitalize() or row.state.capitalize(), class_=f"badge {row.state}")),
        tag(
            "th", label, *_tags(row), tag("span", breakable(row.type), class_="type") if row.type else None, scope="row"
        ),
        *_cells(row, table),
        tag("td", spark, class_="picture") if table.drawing_title else None,
        tag("td", row.reason, class_="reason") if table.reason_title else None,
        class_=f"output {row.state}{' chosen' if row.chosen else ''}",
        data_name=row.name,
    )
    if key:
        yield tag(
            "tr",
            tag("td", *_details(row, table, large=large, look=look), colspan=width),
            class_=f"detail {row.state}",
            id=key,
            data_printed=printed,
        )


def _tags(row: Row) -> list[Markup]:
    return [tag("span", text, class_="badge note") for text in row.tags]


def _cells(row: Row, table: Table) -> Iterator[Markup]:
    for column, cell in zip(table.columns, row.cells, strict=False):
        if column.kind == "text":
            yield tag("td", breakable(cell_text(column, cell)) if cell is not None else "–", data_label=column.title)
        else:
            yield _number(column, cell)


def _number(column: Column, cell: CellValue) -> Markup:
    if cell is None:
        return tag("td", "–", class_="number", data_label=column.title, data_value="-1")
    if isinstance(cell, Cell):
        value = None if cell.value is None else repr(float(cell.value))
        return tag(
            "td", cell.text, class_="number", data_label=column.title, title=cell.remark or None, data_value=value
        )
    if isinstance(cell, str) or column.kind == "duration":
        shown = cell_text(column, cell)
    else:
        shown = f"{cell:,}" if isinstance(cell, int) else figure(cell, column.digits)
    value = None if isinstance(cell, str) else f"{cell:.9g}"
    return tag("td", shown, class_="number", data_label=column.title, data_value=value)


def _details(row: Row, table: Table, *, large: bool, look: Any) -> Iterator[Markup]:
    if row.reason and not table.reason_title:
        yield tag("p", row.reason)
    yield from (tag("p", text, class_="soft") for text in row.remarks if text)
    if look is not None:
        yield pictures(look)
    blocks = [_distribution(row.drawing)] if large and isinstance(row.drawing, Histogram) else []
    blocks += [_list(facts) for facts in row.details]
    if blocks:
        yield tag("div", *blocks, class_="details")


def _distribution(histogram: Histogram) -> Markup:
    return tag(
        "figure",
        tag("figcaption", tag("h3", histogram.title), tag("span", histogram.remark, class_="soft")),
        histogram_svg(histogram),
        class_="wide",
    )


def _list(facts: Facts) -> Markup:
    wide = any(item.state for item in facts.items)
    return tag("div", tag("h3", facts.title), facts_list(facts.items), class_="wide" if wide else None)


def information(table: Table, number: int) -> Markup:
    """Return a table that only informs."""
    bare = {"text": None}
    head = [tag("th", table.name_title, scope="col")]
    head += [tag("th", item.title, scope="col", class_=bare.get(item.kind, "number")) for item in table.columns]
    head += [tag("th", table.drawing_title, scope="col", class_="bars")] if table.drawing_title else []
    head += [tag("th", table.reason_title, scope="col")] if table.reason_title else []
    body = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *(_plain_row(row, table) for row in table.rows)))
    key = f"information-{number}"
    return card(_title(table), table.summary, scrolling(body, "scroll", aria_labelledby=key), key=key)


def _plain_row(row: Row, table: Table) -> Markup:
    name = tag(
        "th",
        tag("span", breakable(row.name), class_="name"),
        *_tags(row),
        tag("span", breakable(row.type), class_="type"),
        scope="row",
    )
    drawing = bars(row.drawing) if isinstance(row.drawing, Bar) else ""
    drawing = thumbnail(row.drawing) if isinstance(row.drawing, Thumbnail) else drawing
    reason: Markup | str = row.reason
    if row.state in BAD:
        reason = tag("span", row.reason, class_=f"badge {row.state}")
    return tag(
        "tr",
        name,
        *_cells(row, table),
        tag("td", drawing, class_="bars") if table.drawing_title else None,
        tag("td", reason) if table.reason_title else None,
    )
