"""Shared parts of results and reports: numbers and cells as text, short forms of tables, common blocks."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polycmp.report.result import BAD, Cell, CellValue, Column, Histogram, Problem, Row, Table

#: Rows of a short form: failures, rows that passed, and rows before and after the chosen one.
FAILED_ROWS, PASSED_ROWS = 20, 8
_BEFORE, _BEHIND = 3, 6
_NUMBER = re.compile(r"\d+")


#: As many rows are left out at least: the line that says so takes the place of one.
LEAST_FOLDED = 3


@dataclass(frozen=True)
class Excerpt:
    """Some rows of a table.

    Attributes:
        rows: The rows.
        before: Number of rows left out before them.
        behind: Number of rows left out after them.
        failed: Number of failed rows among those left out after them.
        folded: Common name of most rows left out after them, with a * for each number: `present.*.key`.
    """

    rows: tuple[Row, ...]
    before: int = 0
    behind: int = 0
    failed: int = 0
    folded: tuple[str, ...] = ()


def excerpt(table: Table, failed: int = FAILED_ROWS, passed: int = PASSED_ROWS) -> Excerpt:
    """Return the rows of a table that a short form shows.

    Of a table that has failures first these are the worst failures, and then others: those with a name of their own
    before those that are one of many alike, such as the tensors of a cache.

    Args:
        table: The table.
        failed: Failures shown of a table that has those first.
        passed: Other rows shown of it.
    """
    rows = table.rows
    if table.causal:
        at = next((index for index, row in enumerate(rows) if row.chosen), len(rows) - 1)
        low, high = max(0, at - _BEFORE), min(len(rows), at + _BEHIND + 1)
        low, high = (0 if low < LEAST_FOLDED else low), (len(rows) if len(rows) - high < LEAST_FOLDED else high)
        return Excerpt(rows[low:high], low, len(rows) - high, sum(row.state in BAD for row in rows[high:]))
    if not table.failures_first:
        return Excerpt(rows)
    bad = sorted((row for row in rows if row.state in BAD), key=lambda row: -row.severity)
    good = [row for row in rows if row.state not in BAD]
    if len(rows) - len(bad[:failed]) - len(good[:passed]) < LEAST_FOLDED:
        return Excerpt((*bad, *good))
    alike = Counter(family(row.name) for row in rows)
    chosen = sorted(good, key=lambda row: alike[family(row.name)] >= LEAST_FOLDED)[:passed]
    shown = {id(row) for row in (*bad[:failed], *chosen)}
    left = Counter(family(row.name) for row in rows if id(row) not in shown)
    names = tuple(name for name, count in left.most_common() if count >= LEAST_FOLDED)
    kept = (*bad[:failed], *(row for row in good if id(row) in shown))
    return Excerpt(kept, 0, len(rows) - len(kept), max(0, len(bad) - failed), names)


def family(name: str) -> str:
    """Return a name with a * for each number in it, which tensors of a cache or of repeated layers share."""
    return _NUMBER.sub("*", name)


def cell_text(column: Column, value: CellValue) -> str:
    """Return a cell as text; a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, Cell):
        return value.text
    if isinstance(value, str):
        return value
    if column.kind == "duration":
        return duration(value)
    return str(value) if isinstance(value, int) else f"{value:.{column.digits}g}"


def duration(seconds: float) -> str:
    """Return a duration with the unit that suits it."""
    if seconds >= 100:
        return f"{seconds:.0f} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number in few digits, as a page shows it: with signs for infinity, and a dash for None."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "0" if value == 0 else f"{value:.{digits}g}"


def backend_failure(label: str, error: str, hint: str = "") -> Problem:
    """Describe a backend that failed as a `Problem` of its label.

    Args:
        label: The backend's label.
        error: The error message.
        hint: The next command to type; empty for none.
    """
    return Problem(f"{label} failed", error, hint, subject=label)


def error_histogram(edges: Sequence[float], counts: Sequence[int], limit: float | None = None) -> Histogram | None:
    """Return the distribution of absolute errors; None where nothing was counted.

    Args:
        edges: Borders of the bins.
        counts: Elements per bin.
        limit: The absolute tolerance, to mark it.
    """
    if not any(counts):
        return None
    remark = "bins an octave wide; the first also holds all smaller errors"
    return Histogram(tuple(edges), tuple(counts), "Absolute error", remark, limit, "atol")


def table_text(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as the terminal shows tables, in lines that are not broken.

    Args:
        titles: The headings of the columns.
        rows: A text for each column.
    """
    from polycmp.report.layout import Heading, Line, print_table
    from polycmp.report.screen import WHOLE, PlainConsole, cell

    stream = io.StringIO()
    lines = [Line([cell(text) for text in row]) for row in rows]
    print_table(PlainConsole(WHOLE, stream), "", [Heading(title) for title in titles], lines)
    return stream.getvalue().rstrip("\n")
