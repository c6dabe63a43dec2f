"""What `locate` found, on the terminal: the rows around the first bad tensor, the operator, one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polycmp.errors import EXIT_DIFFERENT, EXIT_OK
from polycmp.locate.result import Located, Row
from polycmp.report.screen import Sentence, cell, make_console, make_table
from polycmp.terminal import visible

#: Rows shown before and behind the first bad one without -v.
_BEFORE, _BEHIND = 3, 6


def print_located(
    found: Located, *, verbose: bool = False, explain: bool = False, console: Console | None = None
) -> None:
    """Print what was found to standard output.

    Args:
        found: What to print.
        verbose: Show every tensor.
        explain: Show the figures behind the sentence.
        console: Where to print; by default standard output.
    """
    out = console or make_console()
    for backend in found.failed_backends:
        out.print(Sentence(f"{visible(backend.label)} failed: {backend.error}", "yellow"))
        if backend.hint:
            out.print(Sentence(f"  next: {backend.hint}"))
    if found.rows:
        out.print(_table(found, verbose))
    if found.first_bad is not None:
        for line in _operator(found.first_bad, found):
            out.print(Sentence(visible(line)))
    if found.probe is not None:
        out.print(Sentence(f"probe check: {found.probe.sentence}"))
    for note in found.notes:
        out.print(Sentence(f"note: {note}"))
    if explain:
        for line in found.explain:
            out.print(Sentence(f"  {line}"))
    if found.saved:
        out.print(Sentence(f"saved: {found.saved}"))
    out.print(Sentence(summary(found), _style(found)))


def summary(found: Located) -> str:
    """Return the one line that says it all."""
    if found.failed_backends and found.first_bad is None:
        return f"COULD NOT COMPARE: {', '.join(backend.label for backend in found.failed_backends)} failed"
    head = "FOUND" if found.exit_code == EXIT_DIFFERENT else "NOTHING FOUND"
    return f"{head}: {found.sentence} ({found.seconds:.2g} s)"


def _style(found: Located) -> str:
    return {EXIT_OK: "bold green", EXIT_DIFFERENT: "bold red"}.get(found.exit_code, "bold yellow")


def _table(found: Located, verbose: bool) -> Table:
    columns = ("", "Tensor", "Operator", ">Max abs", ">Relative", ">Jump", ">Own")
    table = make_table(columns, f"{found.candidate} against {found.reference}, in the order of the model")
    rows = found.rows
    at = rows.index(found.first_bad) if found.first_bad in rows else len(rows) - 1
    low, high = (0, len(rows)) if verbose else (max(0, at - _BEFORE), min(len(rows), at + _BEHIND + 1))
    if low:
        table.add_row("", f"… {low} before", "", "", "", "", "")
    for row in rows[low:high]:
        table.add_row(_mark(row, found), cell(row.tensor), cell(row.node.op_type), *_errors(row))
    if high < len(rows):
        failed = sum(not row.passed for row in rows[high:])
        table.add_row("", f"… {len(rows) - high} behind, {failed} outside the tolerance", "", "", "", "", "")
    return table


def _mark(row: Row, found: Located) -> Text:
    if row is found.first_bad:
        return cell("FIRST", "bold red")
    if row is found.origin:
        return cell("origin", "red")
    return cell("ok", "green") if row.passed else cell("bad", "red")


def _errors(row: Row) -> Iterable[str]:
    own = "-" if row.own is None else f"{row.own.relative:.2g}"
    jump = "-" if not row.jump else "new" if math.isinf(row.jump) else f"x{row.jump:.3g}"
    return f"{row.max_abs:.3g}", f"{row.relative:.2g}", jump, own


def _operator(row: Row, found: Located) -> list[str]:
    node = row.node
    made = {item.tensor: item.reference for item in found.rows}
    lines = [f"operator: {node.label}" + (f" of domain {node.domain}" if node.domain else "")]
    lines += [f"  attribute {name} = {value}" for name, value in node.attributes.items()]
    for name in node.inputs:
        known = row.inputs.get(name) or made.get(name)
        lines.append(f"  reads {name!r}" + (f": {known}" if known is not None else ""))
    held = f"{row.candidate} ({found.candidate}), " if row.candidate is not None else ""
    lines.append(f"  makes {row.tensor!r} {row.type}: {held}{row.reference} (reference)")
    if row.reason:
        lines.append(f"  {row.reason}")
    if found.last_good is not None:
        lines.append(f"last good before it: {found.last_good.tensor!r}, relative error {found.last_good.relative:.2g}")
    return lines
