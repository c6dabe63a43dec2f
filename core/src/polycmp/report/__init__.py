"""Result of a command, in the one form that every report renders: for commands and reports of plugins.

A command makes a `Result`; a report, contributed through the hook `polycmp_reports`, writes one::

    from polycmp.report import Table

    def write(result, path):
        for table in result.blocks(Table):
            for row in table.rows:
                ...
"""

from __future__ import annotations

from polycmp._commands import NextStep, Repeat
from polycmp.report.along import AlongGraph, Measure, Place
from polycmp.report.formatting import (
    Excerpt,
    backend_failure,
    cell_text,
    duration,
    error_histogram,
    excerpt,
    figure,
    table_text,
)
from polycmp.report.joining import merge_tables, mergeable_tables
from polycmp.report.presenting import result_as_html, result_as_text, save_result
from polycmp.report.result import (
    BAD,
    Bar,
    Block,
    Cell,
    CellValue,
    Column,
    Fact,
    Facts,
    Histogram,
    Note,
    Point,
    Problem,
    Result,
    Row,
    Series,
    State,
    Table,
    Thumbnail,
    Verdict,
    verdict_of,
)

__all__ = [
    "BAD",
    "AlongGraph",
    "Bar",
    "Block",
    "Cell",
    "CellValue",
    "Column",
    "Excerpt",
    "Fact",
    "Facts",
    "Histogram",
    "Measure",
    "NextStep",
    "Note",
    "Place",
    "Point",
    "Problem",
    "Repeat",
    "Result",
    "Row",
    "Series",
    "State",
    "Table",
    "Thumbnail",
    "Verdict",
    "backend_failure",
    "cell_text",
    "duration",
    "error_histogram",
    "excerpt",
    "figure",
    "merge_tables",
    "mergeable_tables",
    "result_as_html",
    "result_as_text",
    "save_result",
    "table_text",
    "verdict_of",
]
