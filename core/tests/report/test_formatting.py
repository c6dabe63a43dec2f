"""Numbers, cells and short forms of tables, as every report shows them."""

from __future__ import annotations

import math

import pytest

from polycmp.report.formatting import cell_text, duration, error_histogram, excerpt, family, figure, table_text
from polycmp.report.result import Cell, Column, Row, Table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(250, "250 s"), (2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.2e-5, "42 us"), (0, "0 us"), (99.96, "100 s")],
)
def test_a_duration_has_the_unit_that_suits_it(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (math.nan, "NaN"), (math.inf, "∞"), (-math.inf, "−∞"), (0.0, "0"), (-0.0, "0"), (1 / 3, "0.333")],
)
def test_a_figure_has_few_digits(value, text):
    assert figure(value) == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (Column("c"), None, "-"),
        (Column("c"), "word", "word"),
        (Column("c", "number"), 1234567, "1234567"),
        (Column("c", "number", digits=2), 0.123, "0.12"),
        (Column("c", "duration"), 0.002, "2 ms"),
        (Column("c", "number"), Cell("0.5 of it", 0.5), "0.5 of it"),
    ],
)
def test_a_cell_is_shown_as_its_column_says(column, value, text):
    assert cell_text(column, value) == text


def rows(*states, name="y{}"):
    return tuple(Row(name.format(at), state, severity=at) for at, state in enumerate(states))


def test_of_failures_the_worst_come_first_and_the_rest_is_counted():
    table = Table("t", rows(*["passed"] * 30, *["failed"] * 30), failures_first=True)
    short = excerpt(table, failed=5, passed=2)
    assert [row.name for row in short.rows] == ["y59", "y58", "y57", "y56", "y55", "y0", "y1"]
    assert (short.behind, short.failed, short.folded) == (53, 25, ("y*",))


def test_a_row_with_a_name_of_its_own_is_shown_before_one_of_many_alike():
    table = Table("t", (*rows(*["passed"] * 20, name="past.{}.key"), Row("logits", "passed")), failures_first=True)
    short = excerpt(table, passed=1)
    assert [row.name for row in short.rows] == ["logits"]
    assert short.folded == ("past.*.key",)
    assert family("past.12.key.3") == "past.*.key.*"


def test_nothing_is_left_out_where_the_line_that_says_so_takes_as_much_room():
    table = Table("t", rows(*["passed"] * 10), failures_first=True)
    assert len(excerpt(table, passed=8).rows) == 10
    assert len(excerpt(Table("t", rows(*["passed"] * 40))).rows) == 40  # in the order of what is told


def test_of_a_chain_the_rows_around_the_chosen_one_are_shown():
    chain = list(rows(*["passed"] * 20, *["failed"] * 20))
    chain[20] = Row("y20", "failed", chosen=True)
    short = excerpt(Table("t", tuple(chain), causal=True))
    assert [row.name for row in short.rows] == [f"y{at}" for at in range(17, 27)]
    assert (short.before, short.behind, short.failed) == (17, 13, 13)


def test_errors_that_nobody_counted_have_no_histogram():
    assert error_histogram([1, 2], [0]) is None
    assert error_histogram([1, 2, 4], [0, 3], 0.5).limit == 0.5


def test_a_table_is_the_one_of_the_terminal():
    lines = table_text(["Name", "Value"], [["a", "1"], ["long\x1b name", "2"]]).splitlines()
    assert lines[0].split() == ["Name", "Value"]
    assert lines[2:] == ["a               1", "long\\x1b name   2"]
