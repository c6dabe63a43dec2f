"""A result shown by a Python program: as text, as HTML in a notebook, and as a file."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING

from polycmp.report.result import Result
from polycmp.report.writers import Subject, find_writers, write_reports

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

#: Columns of a text, which no wider terminal makes easier to read.
WIDEST = 120


def result_as_text(result: Result) -> str:
    """Return a result as `polycmp` prints it, without colours, as wide as the terminal."""
    from polycmp.report.console import print_result
    from polycmp.report.screen import PlainConsole

    stream = io.StringIO()
    columns = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    print_result(result, console=PlainConsole(columns, stream))
    return stream.getvalue().rstrip("\n")


def result_as_html(result: Result, registry: Registry, row: str = "") -> str:
    """Return a result, or the picture of one of its rows, as HTML to stand in a notebook.

    Args:
        result: The result.
        registry: The plugins, one of which brings the form for notebooks.
        row: Name of the row whose picture is wanted; empty for the whole result.

    Returns:
        HTML that loads nothing; empty where no plugin brings it, or there is no such picture.

    Raises:
        PluginError: The plugin that brings it is broken.
    """
    for item, tools in registry.equipped(registry.reports.values()):
        if tools.inline is not None:
            with registry.explained(item):
                return tools.inline(result, row)
    return ""


def save_result(result: Result, path: str, registry: Registry, plan: Plan | None = None) -> None:
    """Write a result into a file, in the form that its suffix names.

    Args:
        result: The result.
        path: The file.
        registry: The plugins, which bring the forms.
        plan: The plan of the run that it is about; None where none ran.

    Raises:
        UsageError: No report has the suffix.
        PluginError: The plugin that writes it is not installed, broken, or lacks a module.
        FileError: The file cannot be written.
    """
    writers = [item for item in find_writers([path], registry) if item.path]
    write_reports(result, writers, registry, Subject(plan, plan.model if plan is not None else ""))
