"""Tables of one kind that a short form shows as one."""

from __future__ import annotations

from polycmp.report.joining import merge_tables, mergeable_tables
from polycmp.report.result import Column, Problem, Result, Row, Table

COLUMNS = (Column("Max abs", "number"),)


def table(subject, *, title="Outputs", columns=COLUMNS, **more):
    rows = (Row("y", "passed", tuple(0.5 for _ in columns)),)
    return Table(title, rows, columns, subject=subject, subject_title="Model", **more)


def result(*content):
    return Result("suite", "passed", "PASSED", "", content=content)


def test_tables_with_the_same_headings_are_one_with_a_column_for_whose_they_are():
    groups = mergeable_tables(result(table("a"), table("b"), table("c", columns=())))
    assert [[item.subject for item in group] for group in groups] == [["a", "b"], ["c"]]
    merged = merge_tables(groups[0], "All")
    assert (merged.title, [column.title for column in merged.columns]) == ("All", ["Model", "Max abs"])
    assert [row.cells for row in merged.rows] == [("a", 0.5), ("b", 0.5)]
    assert merge_tables(groups[0]).title == "Outputs"


def test_tables_without_verdicts_or_with_a_failure_of_their_own_stay_alone():
    alone = (table("a", judged=False), table("b", problem=Problem("b failed", "gone")), Table("t", ()))
    assert mergeable_tables(result(*alone)) == []
