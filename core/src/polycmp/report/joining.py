"""Tables of one kind as one: the cases of a suite in place of a table for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polycmp.report.result import Column, Result, Table


def mergeable_tables(result: Result) -> list[list[Table]]:
    """Return the tables that a short form shows as one with others: those whose headings are the same.

    Args:
        result: The result that holds them.
    """
    groups: dict[object, list[Table]] = {}
    for table in result.blocks(Table):
        if table.judged and table.subject_title and table.problem is None:
            groups.setdefault((table.subject_title, table.columns, table.name_title), []).append(table)
    return list(groups.values())


def merge_tables(tables: Sequence[Table], title: str = "") -> Table:
    """Return a table with the rows of several, each with its subject.

    Args:
        tables: Tables of one kind.
        title: Title of the table; by default that of the first.
    """
    first = tables[0]
    rows = [replace(row, cells=(table.subject, *row.cells)) for table in tables for row in table.rows]
    columns = (Column(first.subject_title), *first.columns)
    return replace(first, title=title or first.title, rows=tuple(rows), columns=columns, about="")
