"""Result of a command, in the one form that every report renders: for commands and reports of plugins.

A command makes a `Result`; a report, contributed through the hook `polycmp_reports`, writes one::

    from polycmp.report import Table

    def write(result, path):
        for table in result.blocks(Table):
            for row in table.rows:
                ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp._commands import NextStep, Repeat
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
from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.report.along import AlongGraph, Measure, Place
    from polycmp.report.presenting import result_as_html, result_as_text, save_result

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

if not TYPE_CHECKING:  # drawings along a model, and results of Python programs
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "along": ["AlongGraph", "Measure", "Place"],
            "presenting": ["result_as_html", "result_as_text", "save_result"],
        },
    )
